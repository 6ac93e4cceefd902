// The entries of the user's known_hosts files for a host.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::ssh {

/// The keys of a host, each as one line without a comment: "ssh-ed25519 AAAA...".
struct KnownHost {
  std::vector<std::string> keys{};  ///< Ed25519 keys, including revoked ones.
  /// Keys of other types, which OpenSSH's client can check.
  std::vector<std::string> other_keys{};
  std::set<std::string> other_types{};     ///< The types of other_keys.
  std::vector<std::string> revoked{};      ///< Keys of any type that must not be trusted.
  std::vector<std::string> authorities{};  ///< Keys that sign certificates of such hosts.

  bool is_revoked(const std::string& key) const;
};

/// Looks up a host in the text of a known_hosts file. Supports hashed names, patterns, negation,
/// [host]:port, @revoked and @cert-authority. Skips unreadable lines.
KnownHost known_host(std::string_view text, std::string_view address, std::uint16_t port);

/// Looks up a host in several files. Skips missing files. Throws if a file cannot be read.
KnownHost known_host_in(std::span<const std::filesystem::path> files, std::string_view address,
                        std::uint16_t port);

}  // namespace fastgpu::ssh
