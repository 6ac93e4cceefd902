#include "launcher/binding.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "launcher/gpu_order.hpp"

namespace fastgpu::launcher {
namespace {

using agent::Cpu;
using agent::MachineTopology;

std::vector<Cpu> in_order(const MachineTopology& topology) {
  std::vector<Cpu> cpus = topology.cpus;
  std::ranges::sort(cpus, {}, [](const Cpu& cpu) {
    return std::tuple(cpu.socket, cpu.numa, cpu.core, cpu.number);
  });
  return cpus;
}

/// Groups the CPUs by a key, in the order of their first CPUs.
template <class Key>
std::vector<RankPart> grouped(const MachineTopology& topology, Key key_of) {
  std::vector<RankPart> places;
  std::map<int, std::size_t> found;
  for (const Cpu& cpu : in_order(topology)) {
    const auto [at, is_new] = found.emplace(key_of(cpu), places.size());
    if (is_new) places.emplace_back();
    places[at->second].cpus.push_back(cpu.number);
  }
  for (RankPart& place : places)
    std::ranges::sort(place.cpus);
  return places;
}

/// Divides the cores evenly among `parts`; with fewer cores than parts some share one.
std::vector<std::vector<int>> divided(const std::vector<Cpu>& cpus, std::size_t parts) {
  std::vector<int> cores;
  for (const Cpu& cpu : cpus)
    if (std::ranges::find(cores, cpu.core) == cores.end()) cores.push_back(cpu.core);
  std::vector<std::vector<int>> out(parts);
  for (std::size_t part = 0; part < parts && !cores.empty(); ++part) {
    const std::size_t first = part * cores.size() / parts;
    const std::size_t end = std::max(first + 1, (part + 1) * cores.size() / parts);
    for (const Cpu& cpu : cpus) {
      const auto at = static_cast<std::size_t>(std::ranges::find(cores, cpu.core) - cores.begin());
      if (at >= first && at < end) out[part].push_back(cpu.number);
    }
    std::ranges::sort(out[part]);
  }
  return out;
}

std::vector<RankPart> places_of_gpus(const MachineTopology& topology) {
  std::vector<RankPart> places(topology.gpus.size());
  const std::vector<Cpu> all = in_order(topology);
  std::map<int, std::vector<std::size_t>> gpus_by_numa;
  for (std::size_t i = 0; i < topology.gpus.size(); ++i) {
    const int numa = topology.gpus[i].numa;
    const bool is_known = std::ranges::count(all, numa, &Cpu::numa) > 0;
    places[i].gpu = static_cast<int>(i);
    gpus_by_numa[is_known ? numa : -1].push_back(i);
  }
  for (const auto& [numa, gpus] : gpus_by_numa) {
    std::vector<Cpu> near;
    for (const Cpu& cpu : all)
      if (numa == -1 ? !gpus_by_numa.contains(cpu.numa) : cpu.numa == numa) near.push_back(cpu);
    if (near.empty()) near = all;
    const auto parts = divided(near, gpus.size());
    for (std::size_t i = 0; i < gpus.size(); ++i)
      places[gpus[i]].cpus = parts[i];
  }
  return places;
}

const NodeTopology& topology_of(std::span<const NodeTopology> nodes, const NodeName& name) {
  const auto found = std::ranges::find(nodes, name, &NodeTopology::name);
  if (found == nodes.end())
    throw Error(ErrorKind::internal, "the topology of " + name.value + " is unknown");
  return *found;
}

/// Returns the places with GPUs in the order in which `count` ranks get them.
std::vector<RankPart> ordered_by_links(const std::vector<RankPart>& places,
                                       const MachineTopology& topology, std::size_t count) {
  std::vector<int> offered;
  for (const RankPart& place : places)
    offered.push_back(place.gpu);
  std::ranges::sort(offered);
  std::vector<RankPart> ordered;
  for (const int gpu : order_gpus(topology, offered, count))
    ordered.push_back(*std::ranges::find(places, gpu, &RankPart::gpu));
  return ordered;
}

/// Returns the place of each of these ranks; none if the node has no places. Ranks beyond the
/// places have the same ones again.
std::vector<RankPart> places_of(std::span<const NodeTopology> nodes, const NodeRanks& ranks,
                                RankUnit unit) {
  const NodeTopology& node = topology_of(nodes, ranks.node);
  std::vector<RankPart> places =
      places_of_nodes(nodes, unit)[static_cast<std::size_t>(&node - nodes.data())];
  const auto count = static_cast<std::size_t>(ranks.count);
  if (unit == RankUnit::gpu) places = ordered_by_links(places, node.topology, count);
  std::vector<RankPart> out;
  for (std::size_t i = 0; i < count && !places.empty(); ++i)
    out.push_back(places[i % places.size()]);
  return out;
}

/// Adds a line with the items behind `head`, and further lines where it would have more than 80
/// columns.
void add_list(std::string& out, const std::string& head, const std::vector<std::string>& items) {
  constexpr std::size_t kColumns = 80;
  std::string line = head;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = " " + items[i] + (i + 1 < items.size() ? "," : "");
    if (i > 0 && line.size() + item.size() > kColumns) {
      out += line + "\n";
      line = std::string(head.find_first_not_of(' ') + 3, ' ');
    }
    line += item;
  }
  out += line + "\n";
}

/// Returns "GPU 0 (0000:3b:00.0)" and "NIC mlx5_0" for the devices of a NUMA node.
std::vector<std::string> devices_of(const MachineTopology& topology, int numa) {
  std::vector<std::string> devices;
  for (std::size_t i = 0; i < topology.gpus.size(); ++i)
    if (topology.gpus[i].numa == numa)
      devices.push_back("GPU " + std::to_string(i) + " (" + topology.gpus[i].name + ")");
  for (const agent::NearDevice& adapter : topology.adapters)
    if (adapter.numa == numa) devices.push_back("NIC " + adapter.name);
  return devices;
}

/// A rank, for the drawing.
struct DrawnRank {
  int rank = 0;
  std::vector<int> cpus;
  int gpu = -1;
};

void draw_rank(const DrawnRank& rank, std::string& out) {
  out += "      rank " + std::to_string(rank.rank) + ": CPUs " + agent::cpu_list(rank.cpus) +
         (rank.gpu >= 0 ? ", GPU " + std::to_string(rank.gpu) : "") + "\n";
}

/// The numbers of a NUMA node's CPUs in a socket.
std::vector<int> cpus_of(const MachineTopology& topology, int socket, int numa) {
  std::vector<int> cpus;
  for (const Cpu& cpu : topology.cpus)
    if (cpu.socket == socket && cpu.numa == numa) cpus.push_back(cpu.number);
  return cpus;
}

void draw_node(const NodeTopology& node, const std::vector<DrawnRank>& ranks, std::string& out) {
  const MachineTopology& topology = node.topology;
  out += node.name.value + "\n";
  for (const LinkedPairs& group : linked_pairs(topology))
    add_list(out, "  NVLink (" + counted(group.links, "link") + "):", group.pairs);
  if (const auto devices = devices_of(topology, -1); !devices.empty())
    add_list(out, "  near no socket:", devices);
  std::set<std::pair<int, int>> places;  // a socket and one of its NUMA nodes
  for (const Cpu& cpu : topology.cpus)
    places.emplace(cpu.socket, cpu.numa);
  std::set<int> drawn;
  int socket_before = -1;
  for (const auto& [socket, numa] : places) {
    if (socket != socket_before) out += "  socket " + std::to_string(socket) + "\n";
    socket_before = socket;
    const std::vector<int> cpus = cpus_of(topology, socket, numa);
    std::vector<std::string> items = devices_of(topology, numa);
    items.insert(items.begin(), "CPUs " + agent::cpu_list(cpus));
    add_list(out, "    NUMA node " + std::to_string(numa) + ":", items);
    const auto is_here = [&](int cpu) { return std::ranges::count(cpus, cpu) > 0; };
    // A rank is drawn in the first NUMA node of its CPUs.
    for (const DrawnRank& rank : ranks)
      if (std::ranges::any_of(rank.cpus, is_here) && drawn.insert(rank.rank).second)
        draw_rank(rank, out);
  }
}

}  // namespace

std::vector<RankPart> rank_places(const MachineTopology& topology, RankUnit unit) {
  switch (unit) {
    case RankUnit::none:
      return {};
    case RankUnit::core:
      return grouped(topology, [](const Cpu& cpu) { return cpu.core; });
    case RankUnit::numa:
      return grouped(topology, [](const Cpu& cpu) { return cpu.numa; });
    case RankUnit::socket:
      return grouped(topology, [](const Cpu& cpu) { return cpu.socket; });
    case RankUnit::gpu:
      return places_of_gpus(topology);
  }
  return {};
}

std::vector<std::vector<RankPart>> places_of_nodes(std::span<const NodeTopology> nodes,
                                                   RankUnit unit) {
  std::map<std::string, std::size_t> sharers, seen;
  for (const NodeTopology& node : nodes)
    ++sharers[node.topology.boot_id];
  sharers[""] = 1;  // It is unknown.
  std::vector<std::vector<RankPart>> out;
  for (const NodeTopology& node : nodes) {
    const auto all = rank_places(node.topology, unit);
    const std::size_t count = sharers[node.topology.boot_id];
    const std::size_t index = seen[node.topology.boot_id]++;
    if (count == 1 || all.empty()) {
      out.push_back(all);
      continue;
    }
    const std::size_t each = std::max<std::size_t>(1, all.size() / count);
    std::vector<RankPart> own;
    for (std::size_t i = 0; i < each; ++i)
      own.push_back(all[(index * each + i) % all.size()]);
    out.push_back(std::move(own));
  }
  return out;
}

void bind_ranks(std::vector<NodeRanks>& placement, std::span<const NodeTopology> nodes,
                RankUnit unit) {
  if (unit == RankUnit::none) return;
  for (NodeRanks& ranks : placement) {
    ranks.cpus.clear();
    ranks.gpus.clear();
    for (const RankPart& place : places_of(nodes, ranks, unit)) {
      ranks.cpus.push_back(agent::cpu_list(place.cpus));
      if (place.gpu >= 0) ranks.gpus.push_back(place.gpu);
    }
  }
}

std::string draw_placement(std::span<const NodeRanks> placement,
                           std::span<const NodeTopology> nodes, RankUnit unit) {
  if (unit == RankUnit::none) return "";
  std::string out;
  for (const NodeRanks& ranks : placement) {
    std::vector<DrawnRank> drawn;
    for (const RankPart& place : places_of(nodes, ranks, unit))
      drawn.push_back({.rank = ranks.first + static_cast<int>(drawn.size()),
                       .cpus = place.cpus,
                       .gpu = place.gpu});
    draw_node(topology_of(nodes, ranks.node), drawn, out);
  }
  return out;
}

}  // namespace fastgpu::launcher
