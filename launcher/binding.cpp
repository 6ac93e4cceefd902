#include "launcher/binding.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
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

/// Returns "CPUs 0-3, GPU 0".
std::string text_of(const DrawnPart& part) {
  std::string text = part.cpus.empty() ? "" : "CPUs " + agent::cpu_list(part.cpus);
  if (part.gpus.empty()) return text;
  append_item(text, part.gpus.size() == 1 ? "GPU " : "GPUs ");
  std::vector<int> gpus = part.gpus;
  std::ranges::sort(gpus);
  text += agent::cpu_list(gpus);
  return text;
}

/// The numbers of a NUMA node's CPUs in a socket.
std::vector<int> cpus_of(const MachineTopology& topology, int socket, int numa) {
  std::vector<int> cpus;
  for (const Cpu& cpu : topology.cpus)
    if (cpu.socket == socket && cpu.numa == numa) cpus.push_back(cpu.number);
  return cpus;
}

void draw_node(const NodeTopology& node, std::span<const DrawnPart> parts, std::string& out) {
  const MachineTopology& topology = node.topology;
  out += node.name.value + "\n";
  for (const LinkedPairs& group : linked_pairs(topology))
    add_list(out, "  NVLink (" + counted(group.links, "link") + "):", group.pairs);
  if (const auto devices = devices_of(topology, -1); !devices.empty())
    add_list(out, "  near no socket:", devices);
  std::set<std::pair<int, int>> places;  // a socket and one of its NUMA nodes
  for (const Cpu& cpu : topology.cpus)
    places.emplace(cpu.socket, cpu.numa);
  std::set<std::string> drawn;
  int socket_before = -1;
  for (const auto& [socket, numa] : places) {
    if (socket != socket_before) out += "  socket " + std::to_string(socket) + "\n";
    socket_before = socket;
    const std::vector<int> cpus = cpus_of(topology, socket, numa);
    std::vector<std::string> items = devices_of(topology, numa);
    items.insert(items.begin(), "CPUs " + agent::cpu_list(cpus));
    add_list(out, "    NUMA node " + std::to_string(numa) + ":", items);
    const auto is_here = [&](int cpu) { return std::ranges::count(cpus, cpu) > 0; };
    // A part is drawn in the first NUMA node of its CPUs.
    for (const DrawnPart& part : parts)
      if (part.node == node.name && std::ranges::any_of(part.cpus, is_here) &&
          drawn.insert(part.name).second)
        out += "      " + part.name + ": " + text_of(part) + "\n";
  }
}

}  // namespace

std::string index_list(const std::vector<int>& indexes) {
  return agent::cpu_list(indexes);
}

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

std::size_t index_of(std::span<const NodeTopology> nodes, const NodeName& name) {
  const auto found = std::ranges::find(nodes, name, &NodeTopology::name);
  if (found == nodes.end())
    throw Error(ErrorKind::internal, "the topology of " + name.value + " is unknown");
  return static_cast<std::size_t>(found - nodes.begin());
}

std::vector<DrawnPart> drawn_ranks(std::span<const NodeRanks> placement) {
  std::vector<DrawnPart> drawn;
  for (const NodeRanks& ranks : placement)
    for (std::size_t i = 0; i < ranks.cpus.size(); ++i) {
      if (ranks.workers > 0) {
        drawn.push_back({.name = "torchrun with " + counted(ranks.workers, "worker"),
                         .node = ranks.node,
                         .cpus = agent::parse_cpu_list(ranks.cpus[i]),
                         .gpus = ranks.gpus});
        continue;
      }
      drawn.push_back({.name = "rank " + std::to_string(ranks.first + static_cast<int>(i)),
                       .node = ranks.node,
                       .cpus = agent::parse_cpu_list(ranks.cpus[i])});
      if (i < ranks.gpus.size()) drawn.back().gpus = {ranks.gpus[i]};
    }
  return drawn;
}

std::string draw_placement(std::span<const NodeRanks> placement,
                           std::span<const NodeTopology> nodes, std::span<const DrawnPart> parts) {
  std::string out;
  for (const NodeRanks& ranks : placement)
    draw_node(nodes[index_of(nodes, ranks.node)], parts, out);
  return out;
}

}  // namespace fastgpu::launcher
