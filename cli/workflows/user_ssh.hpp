// The user's own configuration of OpenSSH.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/workflows/services.hpp"

namespace fastgpu::cli {

/// Returns the name of the user that this process runs as; empty if it has none.
std::string login_name();

/// The settings for one host, resolved by OpenSSH without contacting the host.
struct UserSshHost {
  std::string address{};
  std::uint16_t port = 22;
  std::string user{};   ///< Empty if the configuration has no user.
  std::string proxy{};  ///< "ProxyJump gate" or "ProxyCommand nc ..."; empty without either.
  std::string host_key_alias{};  ///< The host's name in known_hosts; empty if it is the address.
  std::vector<std::filesystem::path> identities{};  ///< The identity files that exist.
  bool has_certificate = false;
  bool has_agent = false;
};

/// The settings of the cluster file for a host. They win over the configuration.
struct OwnSettings {
  std::optional<std::uint16_t> port{};
  std::string user{};
  std::filesystem::path identity{};
};

class UserSsh {
 public:
  explicit UserSsh(Services& services);

  /// Returns true if OpenSSH's client is installed. Otherwise only the cluster file is used.
  bool is_there() const noexcept { return is_there_; }
  /// Returns the path of ~/.ssh/config; empty if that file is missing.
  const std::filesystem::path& config() const noexcept { return config_; }

  /// Returns the settings for `name`, by `ssh -G`. Throws usage if the configuration has an error.
  UserSshHost of(const std::string& name, const OwnSettings& own) const;

 private:
  Services& services_;
  std::filesystem::path home_;
  std::filesystem::path config_;
  bool is_there_ = false;
};

}  // namespace fastgpu::cli
