// A machine as SSH sees it: where it answers, who we are there, and which keys prove that it is it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/names.hpp"

namespace fastgpu::ssh {

struct Host {
  NodeName name{};        ///< For messages and line prefixes.
  std::string address{};  ///< IPv4, IPv6 or DNS name.
  std::uint16_t port = 22;
  std::filesystem::path door{};  ///< Into the network of `address` (base/door.hpp); empty: ours.
  std::string user{};
  std::filesystem::path identity{};  ///< Private key file in OpenSSH's format, Ed25519.
  /// Public keys in the form "ssh-ed25519 AAAA...", one of which the host must prove to own. Empty
  /// means that nothing is known of the host: connecting fails with ErrorKind::denied.
  std::vector<std::string> host_keys{};
  std::vector<Host> jumps{};  ///< Hosts to go through, the one nearest to us first.

  friend bool operator==(const Host&, const Host&) = default;
};

}  // namespace fastgpu::ssh
