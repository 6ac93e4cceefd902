// Ways between nodes on which large packets get lost without a word, as where a switch or a tunnel
// has a smaller MTU than the nodes, and ICMP is filtered. Connections come about there, and hang.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace fastgpu::agent {

struct LargePacketTarget {
  std::string address;  ///< Numeric.
  int mtu = 0;          ///< That of its interface.
};

/// The largest packet that a way should carry, and does not.
struct LostPacket {
  std::string address;
  int bytes = 0;
};

/// Sends each target UDP packets to a port that nothing uses: the target's kernel refuses every one
/// that arrives. Returns the targets that refuse small ones, and none as large as both interfaces
/// allow. A target that refuses no small one, as behind many firewalls, is left out, and so is one
/// that has just sent so many refusals that its kernel sends no more for a second. Takes one round
/// trip where nothing is lost, 0.4 s where nothing is refused, and 3 s where large packets are
/// lost.
std::vector<LostPacket> lost_large_packets(std::span<const LargePacketTarget> targets);

}  // namespace fastgpu::agent
