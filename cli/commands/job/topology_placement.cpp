#include "cli/commands/job/topology_placement.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "cli/workflows/name_folding.hpp"
#include "launcher/binding.hpp"
#include "launcher/topologies.hpp"
#include "provision/providers.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

/// Throws ErrorKind::usage if a node has no place for a rank.
void require_places(const RemoteTarget& target,
                    const std::vector<std::vector<launcher::RankPart>>& places,
                    launcher::RankUnit unit) {
  std::vector<std::string> without, with;
  for (std::size_t i = 0; i < places.size(); ++i)
    (places[i].empty() ? without : with).push_back(target.nodes[i].name.value);
  if (!without.empty()) throw no_places(unit, target.cluster.name, without, with);
}

}  // namespace

Error no_places(launcher::RankUnit unit, const ClusterName& cluster,
                std::span<const std::string> without, std::span<const std::string> with) {
  const bool is_gpu = unit == launcher::RankUnit::gpu;
  const std::string word(state::to_string(unit));
  std::string text = "run job: --per " + word + ": " + fold_names(without) +
                     (without.size() == 1 ? " has no " : " have no ") +
                     (is_gpu ? "NVIDIA GPU" : word);
  if (!with.empty())
    text += ": take the other nodes (--cluster '" + cluster.value + "/" + fold_names(with) + "')";
  else if (is_gpu)
    text += ": leave --per out, or give each rank a core of its own (--per core)";
  return {ErrorKind::usage, text};
}

void read_topologies(Context& context, RemoteTarget& target, const launcher::JobSpec& spec) {
  if (spec.per == launcher::RankUnit::none) return;
  context.ui().progress("reading the topology of the nodes");
  target.topologies =
      launcher::ask_topologies(context.ssh(), target.hosts, context.agent(), context.cancel());
  context.ui().end_progress();
  if (spec.per == launcher::RankUnit::gpu)
    for (const launcher::NodeTopology& node : target.topologies)
      if (node.topology.is_gpu_tool_silent)
        context.ui().warn(node.name.value +
                          ": nvidia-smi does not answer, so that the NVLinks between its GPUs are "
                          "unknown: ranks get them by their numbers");
  // Local nodes share the cores of this machine.
  if (provision::provider_info(target.cluster.provider).has_local_nodes)
    for (launcher::NodeTopology& node : target.topologies)
      node.topology.boot_id = launcher::kThisMachine;
  const auto places = launcher::places_of_nodes(target.topologies, spec.per);
  require_places(target, places, spec.per);
  const std::string unit(state::to_string(spec.per));
  for (std::size_t i = 0; i < places.size(); ++i) {
    state::Node& node = target.nodes[i];
    const auto count = static_cast<int>(places[i].size());
    const bool is_counted = spec.ranks || spec.per_node;
    if (count > node.slots && !is_counted && spec.crowding == launcher::Crowding::refused)
      throw Error(ErrorKind::usage,
                  "run job: --per " + unit + " starts " + counted(count, "rank") + " on " +
                      node.name.value + ", which has " + counted(node.slots, "slot") +
                      ": give their number by -np, or allow it by --oversubscribe");
    node.slots = spec.crowding == launcher::Crowding::allowed ? count : std::min(node.slots, count);
  }
}

}  // namespace fastgpu::cli
