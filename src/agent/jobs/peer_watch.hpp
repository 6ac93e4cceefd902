// Whether the machine at the other end of our SSH connection still answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// The ends of an SSH connection, as the kernel's tables of TCP connections write them.
struct PeerEnds {
  std::string ours;  ///< "0A00A8C0:0016"
  std::string theirs;
};

/// Returns the forms of the ends of a connection that sshd describes as "CLIENT PORT SERVER PORT":
/// an IPv4 connection may be in the table of IPv6, too. Empty for any other text. Pure.
std::vector<PeerEnds> peer_ends(std::string_view ssh_connection);

/// Returns how often the kernel has sent something again without an answer, bytes or probes, by the
/// text of /proc/net/tcp or tcp6; absent if the table does not have the connection. Pure.
std::optional<int> unanswered_in(std::string_view table, const PeerEnds& ends);

/// Watches the connection in SSH_CONNECTION. A machine that has vanished leaves it open for hours.
class PeerWatch {
 public:
  PeerWatch();

  /// Returns true if the other machine has not confirmed bytes for more than ten seconds, although
  /// they were sent again and again. A program there that is stopped or waits does not matter: its
  /// kernel confirms.
  bool is_gone() const;

 private:
  std::vector<PeerEnds> ends_;
};

}  // namespace fastgpu::agent
