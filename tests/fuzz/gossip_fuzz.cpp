// What users may write as a graph of gossip, and what a file may hold as its saved state.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "attempt.hpp"
#include "comm/gossip/gossip_plan.hpp"
#include "comm/gossip/gossip_state.hpp"
#include "comm/gossip/topology_file.hpp"

namespace comm = fastgpu::comm;

namespace {

/// Larger graphs only take longer.
constexpr int kMostMembersTried = 64;

void parse(std::string_view text) {
  comm::GossipTopology topology{.kind = comm::TopologyKind::file, .text = "./fuzz"};
  topology.graphs = comm::parse_graphs(text);
  const int members = topology.graphs.front().size();
  for (const comm::GossipGraph& graph : topology.graphs)
    if (graph.size() != members) __builtin_trap();
  if (members > kMostMembersTried) return;
  comm::check_topology(topology, members);
  for (std::size_t step = 0; step < topology.graphs.size(); ++step)
    if (comm::deviation_of(comm::checked_weights(topology, members, step)) > 1e-9) __builtin_trap();
}

void load(std::span<const std::byte> bytes) {
  const comm::SavedGossip saved = comm::decode_gossip(bytes);
  if (comm::decode_gossip(comm::encode(saved)) != saved) __builtin_trap();
  for (const float number : saved.numbers)
    if (!std::isfinite(number)) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using fastgpu::ErrorKind;
  fastgpu::fuzz::attempt<ErrorKind::usage>([&] {
    parse({reinterpret_cast<const char*>(data), size});
  });
  fastgpu::fuzz::attempt<ErrorKind::usage>([&] { load(std::as_bytes(std::span(data, size))); });
  return 0;
}
