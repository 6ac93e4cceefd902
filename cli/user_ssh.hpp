// What the user's own configuration of OpenSSH has on hosts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/context.hpp"

namespace fastgpu::cli {

/// A host of a cluster file, where it is found by OpenSSH's rules. Nothing is asked of the host.
struct UserSshHost {
  std::string address{};
  std::uint16_t port = 22;
  std::string user{};            ///< Empty where the configuration names none.
  std::string proxy{};           ///< "ProxyJump gate", "ProxyCommand nc ..."; empty: none.
  std::string host_key_alias{};  ///< What known_hosts calls it; empty: by its address.
  std::vector<std::filesystem::path> identities{};  ///< Those that exist.
  bool has_certificate = false;
  bool has_agent = false;
};

/// The settings that a cluster file has for a host, which hold against the configuration.
struct OwnSettings {
  std::optional<std::uint16_t> port{};
  std::string user{};
  std::filesystem::path identity{};
};

class UserSsh {
 public:
  explicit UserSsh(Context& context);

  /// Whether OpenSSH's client is installed. Without it a host is as the cluster file has it.
  bool is_there() const noexcept { return is_there_; }
  /// ~/.ssh/config; empty where there is none.
  const std::filesystem::path& config() const noexcept { return config_; }

  /// Resolves `name` by `ssh -G`. Throws usage where the configuration has an error.
  UserSshHost of(const std::string& name, const OwnSettings& own) const;

 private:
  Context& context_;
  std::filesystem::path home_;
  std::filesystem::path config_;
  bool is_there_ = false;
};

}  // namespace fastgpu::cli
