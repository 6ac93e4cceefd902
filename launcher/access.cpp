#include "launcher/access.hpp"

#include <arpa/inet.h>

#include "agent/protocol/silence.hpp"
#include "base/numbers.hpp"
#include "ssh/openssh.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::launcher {
namespace {

constexpr std::uint16_t kSshPort = 22;

std::string below_fastgpu(const ClusterAccess& access) {
  return "clusters/" + access.cluster_id;
}

/// Returns the line for the key exchange; empty if the program's own order is right. Since version
/// 9 ssh begins with one that also resists quantum computers, which takes the caller 0.1 s of a
/// core for each node. Traffic between ranks on the same network is not encrypted at all.
std::string key_exchange(const std::string& ssh_version) {
  constexpr std::string_view kName = "OpenSSH_";
  constexpr int kFirstVersion = 9;
  if (!ssh_version.starts_with(kName)) return "";
  const auto major = leading_number<int>(std::string_view(ssh_version).substr(kName.size()));
  return major && *major >= kFirstVersion ? "  KexAlgorithms ^curve25519-sha256\n" : "";
}

}  // namespace

std::string mpirun_name(const Peer& peer, std::size_t place) {
  in_addr ignored{};
  const bool is_ipv4 = ::inet_pton(AF_INET, peer.address.c_str(), &ignored) == 1;
  if (is_ipv4 && peer.port == kSshPort) return peer.address;
  return place == 0 ? "localhost" : "node-" + std::to_string(place);
}

std::string known_hosts(std::span<const Peer> peers) {
  std::string text;
  for (const Peer& peer : peers) {
    const std::string name =
        peer.port == 22 ? peer.address : "[" + peer.address + "]:" + std::to_string(peer.port);
    for (const std::string& key : peer.host_keys)
      text += name + " " + key + "\n";
  }
  return text;
}

std::string ssh_config(std::span<const Peer> peers, const std::string& key_path,
                       const std::string& known_hosts_path, const std::string& ssh_version) {
  std::string text;
  for (std::size_t i = 0; i < peers.size(); ++i)
    text += "Host " + mpirun_name(peers[i], i) + "\n  HostName " + peers[i].address + "\n  Port " +
            std::to_string(peers[i].port) + "\n  User " + peers[i].user + "\n";
  // Quoted, because a home directory may have a space; hosts that are not listed above are refused.
  return text + "Host *\n  IdentityFile \"" + ssh::openssh_literal(key_path) + "\"\n" +
         "  UserKnownHostsFile \"" + ssh::openssh_literal(known_hosts_path) + "\"\n" +
         "  GlobalKnownHostsFile /dev/null\n"
         "  IdentitiesOnly yes\n"
         "  StrictHostKeyChecking yes\n"
         "  BatchMode yes\n"
         // The cheapest of those that every version knows comes first.
         "  Ciphers aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,"
         "aes128-ctr,aes192-ctr,aes256-ctr\n" +
         key_exchange(ssh_version) + "  ConnectTimeout " +
         std::to_string(agent::kSshConnect.count()) +
         "\n"
         "  ServerAliveInterval " +
         std::to_string(agent::kSshProbes.every.count()) + "\n  ServerAliveCountMax " +
         std::to_string(agent::kSshProbes.count) + "\n  LogLevel ERROR\n";
}

std::vector<agent::SmallFile> access_files(const ClusterAccess& access, std::span<const Peer> peers,
                                           const agent::JobNodeFacts& node,
                                           const std::string& prefix) {
  // ssh has no way to write a quotation mark in a path.
  const bool has_mark = node.home.find('"') != node.home.npos;
  const std::string fastgpu = (has_mark ? "~" : node.home) + "/.fastgpu/";
  const std::string key = below_fastgpu(access) + "/id_ed25519";
  const std::string hosts = prefix + "known_hosts";
  return {
      {key, access.private_key.reveal()},
      {hosts, known_hosts(peers)},
      {prefix + "ssh_config", ssh_config(peers, fastgpu + key, fastgpu + hosts, node.ssh_version)}};
}

std::string access_prefix(const ClusterAccess& access, std::span<const Peer> peers) {
  std::string text;
  for (std::size_t i = 0; i < peers.size(); ++i)
    text += mpirun_name(peers[i], i) + " " + peers[i].user + " ";
  constexpr std::size_t kDigits = 16;
  const std::string digits = transfer::sha256_hex(text + known_hosts(peers)).substr(0, kDigits);
  return below_fastgpu(access) + "/" + digits + "-";
}

}  // namespace fastgpu::launcher
