// why-awake: shows why nodes are not idle.
#include <algorithm>
#include <memory>

#include "base/time_text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/node/remote_output.hpp"
#include "cli/commands/shared/target_argument.hpp"
#include "cli/commands/show/views.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/remote_target.hpp"
#include "launcher/guard_orders.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::int64_t kJustNow = 60;  // Seconds. Older activity keeps no node awake.

struct WhyAwakeOptions {
  std::string target;
};

using Watches = std::vector<HostResult<agent::NodeWatch>>;

std::vector<agent::Waking> awake_now(const agent::NodeWatch& watch) {
  std::vector<agent::Waking> wakings;
  std::ranges::copy_if(
      watch.wakings, std::back_inserter(wakings),
      [&](const agent::Waking& waking) { return waking.last + kJustNow >= watch.looked; });
  return wakings;
}

Json json_of(const NodeName& name, const agent::NodeWatch& watch) {
  Json out = {{"name", name.value}, {"awake", Json::array()}};
  for (const agent::Waking& waking : awake_now(watch))
    out["awake"].push_back({{"kind", waking.kind},
                            {"what", waking.what},
                            {"since", time_json(waking.since)},
                            {"last", time_json(waking.last)}});
  out["idle_since"] = time_json(watch.idle_since);
  out["powers_off"] = time_json(watch.powers_off);
  out["because"] = watch.because;
  out["acts"] = watch.acts;
  out["taken_back"] = time_json(watch.taken_back);
  out["at_risk_since"] = time_json(watch.at_risk);
  return out;
}

std::string off_text(const agent::NodeWatch& watch) {
  if (watch.powers_off == 0) return "-";
  const std::int64_t left = std::max<std::int64_t>(0, watch.powers_off - watch.looked);
  const auto time = to_string(std::chrono::milliseconds(std::chrono::seconds(left)));
  return (watch.acts ? "in " : "due in ") + time + " (" + watch.because + ")";
}

std::string since_text(std::int64_t since) {
  return since == 0 ? "?" : utc_text(std::chrono::system_clock::from_time_t(since));
}

void add_rows(View& view, const NodeName& name, const agent::NodeWatch& watch) {
  const auto wakings = awake_now(watch);
  for (const agent::Waking& waking : wakings)
    view.table.rows.push_back(
        {name.value, waking.kind, waking.what, since_text(waking.since), off_text(watch)});
  if (wakings.empty())
    view.table.rows.push_back(
        {name.value, "idle", "nothing", since_text(watch.idle_since), off_text(watch)});
  view.root["nodes"].push_back(json_of(name, watch));
  view.names.push_back(name.value);
}

int run(Context& context, const WhyAwakeOptions& options) {
  const RemoteTarget target =
      running_nodes(context, options.target, Access::inspect, Absent::noted);
  const Watches watches =
      launcher::watch_nodes(context.ssh(), target.hosts, context.agent(), context.cancel());
  View view;
  view.root = document("why-awake");
  view.root["cluster"] = target.cluster.name.value;
  view.root["nodes"] = Json::array();
  view.table.columns = {{"NODE"},
                        {"AWAKE"},
                        {"WHAT", false, Fit::prose},
                        {"SINCE", false, Fit::optional},
                        {"OFF", false, Fit::prose}};
  int failures = 0;
  for (const auto& watch : watches) {
    if (watch.ok()) {
      add_rows(view, watch.host, watch.value());
      warn_of(context.messages(), {watch.host, watch.value().taken_back, watch.value().at_risk});
    } else {
      context.ui().warn(host_line(watch.host, watch.error().what()));
      ++failures;
    }
  }
  context.ui().show(view);
  return failures == 0 ? 0 : 1;
}

}  // namespace

Action make_why_awake_command(Arguments& arguments) {
  arguments.offer_table();
  auto options = std::make_shared<WhyAwakeOptions>();
  describe_target(arguments, options->target);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
