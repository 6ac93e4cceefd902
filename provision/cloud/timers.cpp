#include "provision/cloud/timers.hpp"

#include <algorithm>

#include "provision/cloud/batches.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "provision/takeover.hpp"

namespace fastgpu::provision::cloud {

state::TimePoint held_end(const Cloud& cloud, state::TimePoint when) {
  // The timer may be set this much later without becoming another time.
  constexpr std::chrono::seconds kSpare{30};
  return cloud.timer_at(when, std::chrono::system_clock::now() + kSpare);
}

std::optional<state::TimePoint> set_timers(Cloud& cloud, const std::string& owner,
                                           const state::Cluster& cluster,
                                           std::span<const state::Node> nodes,
                                           std::optional<state::TimePoint> when,
                                           const Cancel& cancel) {
  if (when && cloud.limits().has_timer) when = held_end(cloud, *when);
  const Place& place = cluster.cloud().places.at(cluster.placement().place);
  const std::string& region = place.site.region;
  require_ours(cluster, instances_of(cloud.machines(region, cluster.id, cancel), place, owner));
  std::vector<std::string> ids;
  for (const state::Node& node : nodes)
    if (!node.instance_id.empty() && node.state != state::NodeState::lost)
      ids.push_back(node.instance_id);
  const auto most = static_cast<std::size_t>(cloud.limits().machines_a_call);
  for (std::size_t begin = 0; begin < ids.size(); begin += most)
    cloud.release_at(region, std::span(ids).subspan(begin, std::min(most, ids.size() - begin)),
                     when, cancel);
  return when;
}

}  // namespace fastgpu::provision::cloud
