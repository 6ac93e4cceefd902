#include "comm/gossip/gossip_graphs.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/fusion/fingerprint.hpp"
#include "comm/gossip/chance.hpp"
#include "comm/gossip/topology_file.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::string_view kVariable = "FASTGPU_COMM_TOPOLOGY";
constexpr int kLeastDegree = 2;
constexpr int kMostDegree = 64;

constexpr std::pair<std::string_view, TopologyKind> kTopologyNames[] = {
    {"ring", TopologyKind::ring},
    {"exponential", TopologyKind::exponential},
    {"one-peer-exponential", TopologyKind::one_peer_exponential},
    {"hypercube", TopologyKind::hypercube}};
constexpr std::string_view kRandom = "random:";
constexpr std::string_view kChanging = ":changing";

[[noreturn]] void refuse_topology(std::string_view text, const std::string& expected) {
  throw Error(ErrorKind::usage, std::string(kVariable) + " is '" + printable(std::string(text)) +
                                    "', not " + expected);
}

GossipTopology random_topology(std::string_view text) {
  GossipTopology topology{.kind = TopologyKind::random, .text = std::string(text)};
  std::string_view number = text.substr(kRandom.size());
  topology.is_changing = number.ends_with(kChanging);
  if (topology.is_changing) number.remove_suffix(kChanging.size());
  const char* const end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, topology.degree);
  if (error != std::errc() || stop != end || topology.degree < kLeastDegree ||
      topology.degree > kMostDegree)
    refuse_topology(text, "random:K or random:K:changing, with K from 2 to 64 neighbours");
  return topology;
}

/// Returns the number of powers of two below `members`.
std::uint64_t powers_below(int members) noexcept {
  std::uint64_t powers = 0;
  while ((std::int64_t{1} << powers) < members)
    ++powers;
  return powers;
}

GossipGraph circulant(int members, std::uint64_t first_power, std::uint64_t end_power) {
  GossipGraph graph = empty_graph(members);
  for (int from = 0; from < members; ++from)
    for (std::uint64_t power = first_power; power < end_power; ++power)
      add_arc(graph, from,
              static_cast<int>((from + (std::int64_t{1} << power)) % std::int64_t{members}));
  return graph;
}

GossipGraph ring_graph(int members) {
  GossipGraph graph = empty_graph(members);
  for (int from = 0; from < members; ++from)
    add_edge(graph, from, (from + 1) % members);
  return graph;
}

/// The edges of a hypercube; unless the number of members is a power of two, those that have both
/// ends. It is connected: clearing the lowest bit leads to a lower member.
GossipGraph hypercube_graph(int members) {
  GossipGraph graph = empty_graph(members);
  for (int from = 0; from < members; ++from)
    for (std::int64_t bit = 1; bit < members; bit *= 2)
      if (const std::int64_t to = from ^ bit; to < members)
        add_edge(graph, from, static_cast<int>(to));
  return graph;
}

GossipGraph complete_graph(int members) {
  GossipGraph graph = empty_graph(members);
  for (int from = 0; from < members; ++from)
    for (int to = 0; to < members; ++to)
      add_arc(graph, from, to);
  return graph;
}

/// Half as many rings at random as there shall be neighbours, and a pairing if their number is odd.
/// One ring connects all.
GossipGraph random_graph(int members, int degree, std::uint64_t seed) {
  if (degree >= members - 1) return complete_graph(members);
  GossipGraph graph = empty_graph(members);
  Chance chance(seed);
  std::vector<int> order(static_cast<std::size_t>(members));
  const auto shuffle = [&] {
    for (std::size_t i = 0; i < order.size(); ++i)
      order[i] = static_cast<int>(i);
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[chance.below(i)]);
  };
  for (int ring = 0; ring < degree / 2; ++ring) {
    shuffle();
    for (std::size_t i = 0; i < order.size(); ++i)
      add_edge(graph, order[i], order[(i + 1) % order.size()]);
  }
  if (degree % 2 == 0) return graph;
  shuffle();
  for (std::size_t i = 0; i + 1 < order.size(); i += 2)
    add_edge(graph, order[i], order[i + 1]);
  return graph;
}

}  // namespace

std::string topology_names() {
  std::string names;
  for (const auto& [name, kind] : kTopologyNames)
    names += std::string(name) + ", ";
  return names + "random:K, random:K:changing, or the path of a file, with a '/'";
}

GossipTopology gossip_topology(std::string_view text) {
  for (const auto& [name, kind] : kTopologyNames)
    if (name == text) return {.kind = kind, .text = std::string(text)};
  if (text.starts_with(kRandom)) return random_topology(text);
  if (text.find('/') == std::string_view::npos) refuse_topology(text, "one of " + topology_names());
  try {
    return {.kind = TopologyKind::file,
            .graphs = load_graphs(std::string(text)),
            .text = std::string(text)};
  } catch (const Error& e) {
    throw e.during(kVariable);
  }
}

std::size_t period_of(const GossipTopology& topology, int members) {
  switch (topology.kind) {
    case TopologyKind::one_peer_exponential:
      return std::max<std::size_t>(powers_below(members), 1);
    case TopologyKind::file:
      return topology.graphs.size();
    case TopologyKind::ring:
    case TopologyKind::exponential:
    case TopologyKind::hypercube:
    case TopologyKind::random:
      return 1;
  }
  return 1;
}

GossipGraph graph_at(const GossipTopology& topology, int members, std::uint64_t step) {
  switch (topology.kind) {
    case TopologyKind::ring:
      return ring_graph(members);
    case TopologyKind::exponential:
      return circulant(members, 0, powers_below(members));
    case TopologyKind::one_peer_exponential: {
      const std::uint64_t power = step % period_of(topology, members);
      return circulant(members, power, power + 1);
    }
    case TopologyKind::hypercube:
      return hypercube_graph(members);
    case TopologyKind::random:
      return random_graph(members, topology.degree, topology.is_changing ? step : 0);
    case TopologyKind::file:
      return topology.graphs[step % topology.graphs.size()];
  }
  return empty_graph(members);
}

void check_topology(const GossipTopology& topology, int members) {
  const std::string name = std::string(kVariable) + " " + printable(topology.text);
  std::vector<GossipGraph> round;
  for (std::size_t step = 0; step < period_of(topology, members); ++step) {
    round.push_back(graph_at(topology, members, step));
    if (round.back().size() != members)
      throw Error(ErrorKind::usage, name + " has members up to " +
                                        std::to_string(round.back().size() - 1) +
                                        ", and the job has " + std::to_string(members) +
                                        ": number them from 0, and list each");
  }
  const auto found = components(united(round));
  if (found.size() > 1)
    throw Error(ErrorKind::usage, name + " is not connected: numbers of one of these sets do not " +
                                      "reach all others: " + describe(found));
}

bool is_static(const GossipTopology& topology, int members) {
  return !topology.is_changing && period_of(topology, members) == 1;
}

std::uint64_t number_of(const GossipTopology& topology) {
  Fingerprint number;
  number.add(static_cast<std::uint8_t>(topology.kind));
  number.add(static_cast<std::uint32_t>(topology.degree));
  number.add(static_cast<std::uint8_t>(topology.is_changing));
  for (const GossipGraph& graph : topology.graphs)
    for (const auto& receivers : graph.to) {
      number.add(std::uint64_t{receivers.size()});
      for (const int to : receivers)
        number.add(static_cast<std::uint32_t>(to));
    }
  return number.value();
}

}  // namespace fastgpu::comm
