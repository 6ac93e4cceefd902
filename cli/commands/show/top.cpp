// top: shows how busy the nodes of a cluster are.
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/node/remote_output.hpp"
#include "cli/commands/show/top_view.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/job_metrics.hpp"
#include "cli/workflows/remote_target.hpp"
#include "launcher/job_store.hpp"
#include "ssh/terminal.hpp"

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

/// The time between two questions to an engine that has nodes of its own.
constexpr auto kBetweenEngineQuestions = 10s;

/// The running jobs that `top` shows.
class RunningJobs {
 public:
  /// Takes the cluster of the jobs. Jobs in Kubernetes belong to a cluster without a name.
  RunningJobs(Context& context, state::Cluster cluster)
      : context_(context), cluster_(std::move(cluster)), metrics_(context) {}

  /// Returns the jobs that run now, with the nodes and the metrics of each; the oldest first.
  std::vector<JobOnNodes> look() {
    std::vector<JobOnNodes> found;
    for (const state::Job& job : context_.store().jobs()) {
      try {
        if (is_shown(job)) add(found, now(job));
      } catch (const Error&) {  // Its record is unreadable: `get jobs` says so.
      }
    }
    std::ranges::reverse(found);
    for (std::size_t i = 0; i < std::min(found.size(), kMostJobs); ++i)
      found[i].metrics = metrics_.read(found[i].id);
    return found;
  }

 private:
  bool is_shown(const state::Job& job) const {
    if (launcher::has_ended(job) || job.state == state::JobState::queued) return false;
    if (job.record->spec.engine == state::EngineKind::kubernetes)
      return cluster_.name.value.empty();
    return job.cluster == cluster_.id;
  }

  /// Returns the job as its engine sees it, if the engine has a queue of its own.
  state::Job now(const state::Job& job) {
    if (job.record->spec.engine == state::EngineKind::mpirun) return job;
    const auto time = context_.clock().now();
    const auto [asked, is_first] = asked_.try_emplace(job.id, time);
    if (!is_first && time - asked->second < kBetweenEngineQuestions) return job;
    asked->second = time;
    try {
      return refresh_job(context_, job);
    } catch (const Error&) {
      context_.cancel().check();
      return job;
    }
  }

  static void add(std::vector<JobOnNodes>& found, const state::Job& job) {
    if (job.state != state::JobState::running) return;
    found.push_back({.id = job.id,
                     .placement = job.record->placement,
                     .engine = job.record->spec.engine,
                     .engine_nodes = job.record->engine_job.nodes});
  }

  Context& context_;
  state::Cluster cluster_;
  JobMetrics metrics_;
  std::map<std::string, Clock::time_point> asked_{};
};

Readings read_all(Context& context, const RemoteTarget& target) {
  return launcher::read_usage(context.ssh(), target.hosts, kReadTimeout, context.cancel());
}

/// Waits, or returns early if the user asks to stop.
void wait(Context& context, std::chrono::milliseconds duration) {
  pollfd stop{context.cancel().fd(), POLLIN, 0};
  ::poll(&stop, 1, static_cast<int>(duration.count()));
}

/// Waits, and calls `redraw` whenever the terminal has another size. Returns early if the user asks
/// to stop.
void wait(Context& context, std::chrono::milliseconds duration, const ssh::ResizeWatch& resize,
          const std::function<void()>& redraw) {
  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + duration;
  while (!context.cancel().requested()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0) return;
    std::array<pollfd, 2> fds{pollfd{context.cancel().fd(), POLLIN, 0},
                              pollfd{resize.fd(), POLLIN, 0}};
    ::poll(fds.data(), fds.size(), static_cast<int>(left.count()));
    std::array<signalfd_siginfo, 4> ignored{};
    if (fds[1].revents != 0 && ::read(resize.fd(), ignored.data(), sizeof ignored) > 0) redraw();
  }
}

/// Returns what one row of the view is called.
std::string_view noun_of(const View& view) {
  const std::size_t nodes = view.root.at("nodes").size();
  if (nodes == view.table.rows.size()) return "node";
  return nodes == 0 ? "job" : "row";
}

int show_once(Context& context, const RemoteTarget& target, RunningJobs& running) {
  const Readings before = read_all(context, target);
  context.cancel().check();
  wait(context, kOnce);
  const auto nodes = usage_of_nodes(before, read_all(context, target));
  context.cancel().check();
  const auto jobs = running.look();
  context.cancel().check();
  context.ui().show(view_of_usage(target.cluster.name.value, nodes, jobs));
  for (const UsageOfNode& node : nodes)
    if (!node.ok()) context.ui().warn(host_line(node.host, node.error().what()));
  return std::ranges::all_of(nodes, &UsageOfNode::ok) ? 0 : 1;
}

int show_until_stopped(Context& context, const RemoteTarget& target, RunningJobs& running,
                       std::chrono::milliseconds interval) {
  const ssh::ResizeWatch resize;
  View view;
  const auto redraw = [&] {
    if (!view.table.rows.empty()) context.ui().redraw(view, noun_of(view));
  };
  Readings before = read_all(context, target);
  // The first figures come soon, the others at the interval.
  for (auto pause = std::min<std::chrono::milliseconds>(kOnce, interval);; pause = interval) {
    wait(context, pause, resize, redraw);
    if (context.cancel().requested()) return 0;
    Readings now = read_all(context, target);
    if (context.cancel().requested()) return 0;
    const auto jobs = running.look();
    if (context.cancel().requested()) return 0;
    view = view_of_usage(target.cluster.name.value, usage_of_nodes(before, now), jobs);
    context.ui().redraw(view, noun_of(view));
    before = std::move(now);
  }
}

/// Returns whether a job in Kubernetes has not ended, as far as is known.
bool has_job_in_kubernetes(Context& context) {
  return std::ranges::any_of(context.store().jobs(), [](const state::Job& job) {
    return !launcher::has_ended(job) && is_in_kubernetes(job);
  });
}

/// Returns the nodes to show; none for the jobs in Kubernetes.
RemoteTarget wanted_target(Context& context, const std::string& text) {
  if (!text.empty()) return running_nodes(context, text, Access::inspect, Absent::noted);
  if (has_job_in_kubernetes(context)) return {.cluster = {}, .nodes = {}, .hosts = {}};
  throw Error(ErrorKind::usage,
              "top: the cluster is missing, and no job runs in Kubernetes: fastgpu top demo");
}

int run(Context& context, const TopOptions& options) {
  const auto interval = options.interval.value_or(kUsualInterval);
  if (interval < kOnce)
    throw Error(ErrorKind::usage, "top: the interval " + to_string(interval) +
                                      " is too short: nodes are asked once a second at most");
  const RemoteTarget target = wanted_target(context, options.target);
  RunningJobs running(context, target.cluster);
  const Ui& ui = context.ui();
  const bool is_live = ui.for_people() && ui.terminal().out && ui.terminal().live;
  if (options.once || !is_live) return show_once(context, target, running);
  return show_until_stopped(context, target, running, interval);
}

}  // namespace

Action make_top_command(Arguments& arguments) {
  arguments.offer_table();
  auto options = std::make_shared<TopOptions>();
  Argument& target =
      arguments.text("CLUSTER[/NODES]", "",
                     "The cluster, or some of its nodes (the jobs in Kubernetes)", options->target);
  target.values = Values::target;
  arguments.duration("--interval", "Time between two updates (2s)", options->interval);
  arguments.flag("--once", "Show the figures of one second and end", options->once);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
