#include "cli/workflows/spot_notices.hpp"

#include "base/time_text.hpp"
#include "cli/workflows/reachable_hosts.hpp"
#include "launcher/guard_orders.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::chrono::milliseconds kNoticeGlance{3'000};

}  // namespace

void warn_of(Messages& messages, const Notice& notice) {
  if (notice.taken_back != 0 || notice.at_risk != 0) messages.warn(text_of(notice));
}

bool is_spot(const state::Cluster& cluster) {
  return provision::is_cloud(cluster.provider) &&
         cluster.cloud().request.market == state::Market::spot;
}

std::vector<Notice> notices_of(Services& services, const state::Cluster& cluster,
                               const std::vector<state::Node>& nodes) {
  if (!is_spot(cluster)) return {};
  std::vector<Notice> notices;
  const auto hosts = reachable_hosts(services, cluster, nodes);
  for (const auto& watch : launcher::watch_nodes(services.ssh(), hosts, services.agent(),
                                                 services.cancel(), kNoticeGlance)) {
    if (!watch.ok()) continue;  // The node may be gone already; the cloud reports that.
    const agent::NodeWatch& said = watch.value();
    if (said.taken_back != 0 || said.at_risk != 0)
      notices.push_back({watch.host, said.taken_back, said.at_risk});
  }
  return notices;
}

std::string text_of(const Notice& notice) {
  const auto text = [](std::int64_t seconds) {
    return utc_text(std::chrono::system_clock::from_time_t(seconds));
  };
  if (notice.taken_back != 0)
    return "node " + notice.node.value + " is taken back at " + text(notice.taken_back) +
           " by the cloud";
  return "the cloud has reported since " + text(notice.at_risk) + " that it may take node " +
         notice.node.value + " back";
}

}  // namespace fastgpu::cli
