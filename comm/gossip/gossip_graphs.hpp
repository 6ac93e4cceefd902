// The graphs of FASTGPU_COMM_TOPOLOGY: pure functions of the number of members and the step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "comm/gossip/graph.hpp"

namespace fastgpu::comm {

enum class TopologyKind : std::uint8_t {
  ring,                  ///< Each member and the two beside it.
  exponential,           ///< To the members 1, 2, 4, 8 and so on further.
  one_peer_exponential,  ///< To one of these in each step.
  hypercube,             ///< The members whose number differs in one bit.
  random,                ///< About `degree` members at random, both ways.
  file                   ///< The graphs of a file, one after the other.
};

struct GossipTopology {
  TopologyKind kind = TopologyKind::ring;
  int degree = 0;                     ///< The neighbours of each member in a random graph.
  bool is_changing = false;           ///< A random graph is another one in each step.
  std::vector<GossipGraph> graphs{};  ///< The graphs of a file.
  std::string text = "ring";          ///< The value of the variable, for errors.

  friend bool operator==(const GossipTopology&, const GossipTopology&) = default;
};

/// Returns "ring, exponential, one-peer-exponential, hypercube, random:K, random:K:changing, or the
/// path of a file, with a '/'".
std::string topology_names();

/// Returns the topology of a text such as "ring", "random:4" or "./graph.txt", whose file it reads.
/// Throws ErrorKind::usage for any other text, and for a file that describes no graph.
GossipTopology gossip_topology(std::string_view text);

/// Returns the number of steps after which graphs come again: 1 if they do not change, or never
/// come again.
std::size_t period_of(const GossipTopology& topology, int members);

/// Returns the graph of a step, counted from 0. The topology has been checked for `members`.
GossipGraph graph_at(const GossipTopology& topology, int members, std::uint64_t step);

/// Throws ErrorKind::usage for a file of other members, and for graphs that together do not connect
/// all members, with the components.
void check_topology(const GossipTopology& topology, int members);

/// Returns true if all steps have the same graph.
bool is_static(const GossipTopology& topology, int members);

/// Returns a number that differs for two topologies.
std::uint64_t number_of(const GossipTopology& topology);

}  // namespace fastgpu::comm
