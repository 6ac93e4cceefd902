// top: shows how busy the nodes of a cluster are.
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/node/remote_output.hpp"
#include "cli/commands/shared/target_argument.hpp"
#include "cli/commands/show/top_view.hpp"
#include "cli/workflows/job_metrics.hpp"
#include "cli/workflows/remote_target.hpp"
#include "launcher/job.hpp"

namespace fastgpu::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kUsualInterval = 2s;
constexpr auto kOnce = 1s;  ///< Between the two readings of one answer.
constexpr auto kReadTimeout = 20s;

struct TopOptions {
  std::string target;
  std::optional<std::chrono::milliseconds> interval;
  bool once = false;
};

using Readings = std::vector<HostResult<launcher::UsageCounters>>;

/// The maximum number of jobs whose metrics are read; others are shown without.
constexpr std::size_t kMostJobs = 16;

/// Returns the cluster's running jobs with the nodes and the metrics of each.
std::vector<JobOnNodes> jobs_on_nodes(Context& context, const state::Cluster& cluster,
                                      JobMetrics& metrics) {
  std::vector<JobOnNodes> found;
  for (const state::Job& job : context.store().jobs()) {
    if (job.cluster != cluster.id || job.state != state::JobState::running) continue;
    try {
      // The nodes of other engines are not known.
      if (job.record->spec.engine != state::EngineKind::mpirun) continue;
      found.push_back({job.id, job.record->placement});
    } catch (const Error&) {  // Its record is unreadable: `get jobs` says so.
    }
  }
  std::ranges::reverse(found);
  for (std::size_t i = 0; i < std::min(found.size(), kMostJobs); ++i)
    found[i].metrics = metrics.read(found[i].id);
  return found;
}

Readings read_all(Context& context, const RemoteTarget& target) {
  return launcher::read_usage(context.ssh(), target.hosts, kReadTimeout, context.cancel());
}

/// Waits, or returns early if the user asks to stop.
void wait(Context& context, std::chrono::milliseconds duration) {
  pollfd stop{context.cancel().fd(), POLLIN, 0};
  ::poll(&stop, 1, static_cast<int>(duration.count()));
}

int show_once(Context& context, const RemoteTarget& target) {
  const Readings before = read_all(context, target);
  context.cancel().check();
  wait(context, kOnce);
  const auto nodes = usage_of_nodes(before, read_all(context, target));
  context.cancel().check();
  JobMetrics metrics(context);
  const auto jobs = jobs_on_nodes(context, target.cluster, metrics);
  context.cancel().check();
  context.ui().show(view_of_usage(target.cluster.name.value, nodes, jobs));
  for (const UsageOfNode& node : nodes)
    if (!node.ok()) context.ui().warn(host_line(node.host, node.error().what()));
  return std::ranges::all_of(nodes, &UsageOfNode::ok) ? 0 : 1;
}

int show_until_stopped(Context& context, const RemoteTarget& target,
                       std::chrono::milliseconds interval) {
  JobMetrics metrics(context);
  Readings before = read_all(context, target);
  // The first figures come soon, the others at the interval.
  for (auto pause = std::min<std::chrono::milliseconds>(kOnce, interval);; pause = interval) {
    wait(context, pause);
    if (context.cancel().requested()) return 0;
    Readings now = read_all(context, target);
    if (context.cancel().requested()) return 0;
    const auto jobs = jobs_on_nodes(context, target.cluster, metrics);
    if (context.cancel().requested()) return 0;
    context.ui().redraw(
        view_of_usage(target.cluster.name.value, usage_of_nodes(before, now), jobs));
    before = std::move(now);
  }
}

int run(Context& context, const TopOptions& options) {
  const auto interval = options.interval.value_or(kUsualInterval);
  if (interval < kOnce)
    throw Error(ErrorKind::usage, "top: the interval " + to_string(interval) +
                                      " is too short: nodes are asked once a second at most");
  const RemoteTarget target = running_nodes(context, options.target, Access::inspect);
  const Ui& ui = context.ui();
  const bool is_live = ui.for_people() && ui.terminal().out && ui.terminal().live;
  if (options.once || !is_live) return show_once(context, target);
  return show_until_stopped(context, target, interval);
}

}  // namespace

Action make_top_command(Arguments& arguments) {
  arguments.offer_table();
  auto options = std::make_shared<TopOptions>();
  describe_target(arguments, options->target);
  arguments.duration("--interval", "Time between two updates (2s)", options->interval);
  arguments.flag("--once", "Show the figures of one second and end", options->once);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
