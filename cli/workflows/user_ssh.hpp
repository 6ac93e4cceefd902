// The user's own configuration of OpenSSH for hosts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/workflows/services.hpp"

namespace fastgpu::cli {

/// A host of a cluster file, resolved by OpenSSH's rules without contacting it.
struct UserSshHost {
  std::string address{};
  std::uint16_t port = 22;
  std::string user{};            ///< Empty if the configuration names none.
  std::string proxy{};           ///< "ProxyJump gate", "ProxyCommand nc ..."; empty: none.
  std::string host_key_alias{};  ///< The name in known_hosts; empty: the address.
  std::vector<std::filesystem::path> identities{};  ///< The identities that exist.
  bool has_certificate = false;
  bool has_agent = false;
};

/// The settings of a cluster file for a host, which win over the configuration.
struct OwnSettings {
  std::optional<std::uint16_t> port{};
  std::string user{};
  std::filesystem::path identity{};
};

class UserSsh {
 public:
  explicit UserSsh(Services& services);

  /// Returns true if OpenSSH's client is installed. Without it, only the cluster file counts for a
  /// host.
  bool is_there() const noexcept { return is_there_; }
  /// Returns ~/.ssh/config; empty if it is missing.
  const std::filesystem::path& config() const noexcept { return config_; }

  /// Resolves `name` by `ssh -G`. Throws usage if the configuration has an error.
  UserSshHost of(const std::string& name, const OwnSettings& own) const;

 private:
  Services& services_;
  std::filesystem::path home_;
  std::filesystem::path config_;
  bool is_there_ = false;
};

}  // namespace fastgpu::cli
