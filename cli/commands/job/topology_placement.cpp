#include "cli/commands/job/topology_placement.hpp"

#include <algorithm>
#include <string>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "launcher/binding.hpp"
#include "launcher/topologies.hpp"
#include "provision/providers.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {

void read_topologies(Context& context, RemoteTarget& target, const launcher::JobSpec& spec) {
  if (spec.per == launcher::RankUnit::none) return;
  context.ui().progress("reading the topology of the nodes");
  target.topologies =
      launcher::ask_topologies(context.ssh(), target.hosts, context.agent(), context.cancel());
  context.ui().end_progress();
  // Local nodes share the cores of this machine.
  if (provision::provider_info(target.cluster.provider).has_local_nodes)
    for (launcher::NodeTopology& node : target.topologies)
      node.topology.boot_id = launcher::kThisMachine;
  const auto places = launcher::places_of_nodes(target.topologies, spec.per);
  const std::string unit(state::to_string(spec.per));
  for (std::size_t i = 0; i < places.size(); ++i) {
    state::Node& node = target.nodes[i];
    const auto count = static_cast<int>(places[i].size());
    if (count == 0)
      throw Error(ErrorKind::usage,
                  "run job: --per " + unit + ": " + node.name.value + " has no " + unit);
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
