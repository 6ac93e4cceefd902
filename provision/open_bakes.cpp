#include "provision/open_bakes.hpp"

#include <algorithm>
#include <string>
#include <variant>

#include "provision/journal.hpp"

namespace fastgpu::provision {
namespace {

/// Returns the command that continues the bake; `fastgpu gc` if its environment is unknown.
std::string command_for(const state::Cluster& cluster, const state::Intent& bake) {
  const auto* order = std::get_if<state::ImageOrder>(&*bake.detail);
  if (order == nullptr || order->environment.empty()) return "fastgpu gc";
  return "fastgpu env bake " + order->environment + " --cluster " + cluster.name.value;
}

}  // namespace

void check_not_baking(const state::Store& store, const state::Cluster& cluster,
                      std::span<const state::Node> nodes, std::string_view doing) {
  for (const state::Intent& intent : store.open_intents(cluster.id)) {
    if (intent.action != kBakeImage) continue;
    const auto node = std::ranges::find_if(
        nodes, [&](const state::Node& one) { return one.name.value == intent.subject; });
    if (node == nodes.end() || node->state != state::NodeState::running) continue;
    throw Error(ErrorKind::conflict,
                std::string(doing) + " " + intent.subject +
                    ": an image of it is not complete, and until then its keys are only in its "
                    "memory: `" +
                    command_for(cluster, intent) + "` completes it");
  }
}

}  // namespace fastgpu::provision
