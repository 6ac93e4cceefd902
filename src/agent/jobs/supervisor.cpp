#include "agent/jobs/supervisor.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "agent/files/disk.hpp"
#include "agent/files/reserved_file.hpp"
#include "agent/jobs/free_port.hpp"
#include "agent/jobs/job_folders.hpp"
#include "agent/jobs/mpi_sessions.hpp"
#include "agent/jobs/processes.hpp"
#include "agent/jobs/rank_group.hpp"
#include "agent/jobs/rank_lease.hpp"
#include "agent/jobs/search_paths.hpp"
#include "agent/protocol/exit_codes.hpp"
#include "agent/signals.hpp"
#include "base/error.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds kJobGrace{2'000};  ///< The time between SIGTERM and SIGKILL for mpirun.
constexpr milliseconds kRepeatOrder{500};
constexpr milliseconds kAfterRanks{600};  ///< The time that mpirun needs to see the end of ranks.
constexpr milliseconds kLongestNap{1'000};

std::string marker_of(const JobPlan& plan) {
  return std::string(kJobMarker) + "=" + plan.id;
}

bool has_head(const JobPlan& plan) {
  return process::variable(plan.environment, kJobHead).has_value();
}

/// Adds the port for the lease of ranks to the address of this node. Without a port ranks have no
/// such lease.
void name_head(std::vector<std::string>& environment, std::uint16_t port) {
  const std::string address = process::variable(environment, kJobHead).value_or("");
  const std::string text = port == 0 ? "" : address + " " + std::to_string(port);
  process::set_variable(environment, std::string(kJobHead) + "=" + text);
}

process::Command command_of(const JobPlan& plan, const LeaseListener* ranks, const UniqueFd& out,
                            const UniqueFd& err) {
  process::Command command{.argv = plan.argv};
  command.in.mode = process::StreamMode::null;
  command.out.fd = out.get();
  command.err.fd = err.get();
  command.directory = below_home(plan.directory);
  command.grouping = process::Grouping::session;
  // At its end mpirun of Open MPI 4 removes its handler of SIGPIPE before it closes its
  // connections. A daemon that has ended before would then kill it. Programs of ranks get the usual
  // behaviour.
  command.on_broken_pipe = process::OnBrokenPipe::fail;
  command.environment = process::current_environment();
  keep_login_paths(*command.environment);
  for (const std::string& assignment : plan.environment)
    process::set_variable(*command.environment, assignment);
  if (ranks != nullptr) name_head(*command.environment, ranks->port());
  const auto ports = find_free_ports(plan.port_variables.size());
  for (std::size_t i = 0; i < ports.size(); ++i)
    process::set_variable(*command.environment,
                          plan.port_variables[i] + "=" + std::to_string(ports[i]));
  process::set_variable(*command.environment, marker_of(plan));
  return command;
}

/// The conditions that end a running job.
class Watch {
 public:
  Watch(const std::filesystem::path& directory, const JobPlan& plan)
      : lease_(directory / "lease", plan.lease),
        deadline_(plan.timeout.count() > 0 ? SteadyClock::now() + plan.timeout
                                           : SteadyClock::time_point::max()),
        nap_(std::min(kLongestNap, plan.lease.count() > 0 ? plan.lease / 4 : kLongestNap)) {}

  /// Waits until the job ends, and returns StopCause::none, or until it must be ended, and returns
  /// the cause.
  StopCause wait(SignalQueue& signals, Reaper& reaper, LeaseListener* ranks) {
    for (;;) {
      pollfd fds[] = {{signals.fd(), POLLIN, 0}, {ranks != nullptr ? ranks->fd() : -1, POLLIN, 0}};
      ::poll(fds, 2, nap());
      if (ranks != nullptr && fds[1].revents != 0) ranks->look();
      bool asked = false;
      while (const auto number = signals.next())
        asked = asked || *number != SIGCHLD;
      reaper.reap();
      if (reaper.ended()) return StopCause::none;
      if (asked) return StopCause::request;
      if (SteadyClock::now() >= deadline_) return StopCause::timeout;
      if (lease_.has_run_out()) return StopCause::lease;
      if (ranks != nullptr && ranks->cut_off_rank()) return StopCause::cut_off;
    }
  }

 private:
  int nap() const {
    const auto left = std::chrono::ceil<milliseconds>(deadline_ - SteadyClock::now());
    return static_cast<int>(std::max(milliseconds(0), std::min(nap_, left)).count());
  }

  LeaseWatch lease_;
  SteadyClock::time_point deadline_;
  milliseconds nap_;
};

/// Waits until the launcher has ended, for at most `limit`.
void wait_for_launcher(milliseconds limit, SignalQueue& signals, Reaper& reaper) {
  const auto deadline = SteadyClock::now() + limit;
  while (!reaper.ended() && SteadyClock::now() < deadline) {
    pollfd fd{signals.fd(), POLLIN, 0};
    ::poll(&fd, 1, 50);
    while (signals.next()) {
    }
    reaper.reap();
  }
}

/// Orders the ranks of all nodes to end: those here, and by mpirun the others. Ranks may be
/// starting, so the order is repeated. Returns early if no rank has begun here: mpirun starts none
/// before it has reached all nodes. If a node is cut off, the launcher may wait for it for long, so
/// that only the ranks here are waited for.
void end_ranks(const std::filesystem::path& directory, const JobPlan& plan, StopCause cause,
               pid_t launcher, SignalQueue& signals, Reaper& reaper) {
  const auto deadline = SteadyClock::now() + plan.grace + kAfterRanks;
  if (order_ranks(marker_of(plan)) == 0 && !has_begun(directory)) return;
  while (!reaper.ended() && SteadyClock::now() < deadline) {
    ::kill(launcher, kStopOrder);
    wait_for_launcher(kRepeatOrder, signals, reaper);
    const bool is_any_here = order_ranks(marker_of(plan)) > 0;
    if (cause == StopCause::cut_off && !is_any_here) return;
  }
}

/// Ends the ranks, and then the launcher if it has not ended with them.
void end_launcher(const std::filesystem::path& directory, const JobPlan& plan, StopCause cause,
                  pid_t launcher, SignalQueue& signals, Reaper& reaper) {
  end_ranks(directory, plan, cause, launcher, signals, reaper);
  if (reaper.ended()) return;
  ::kill(launcher, SIGTERM);
  wait_for_launcher(kJobGrace, signals, reaper);
}

/// Waits until the agents of ranks have ended: they end their programs, and write their status.
void wait_for_ranks(const JobPlan& plan, const std::function<void()>& reap) {
  const auto deadline = SteadyClock::now() + plan.grace + kAfterRanks;
  auto step = milliseconds(2);
  while (order_ranks(marker_of(plan)) > 0 && SteadyClock::now() < deadline) {
    ::poll(nullptr, 0, static_cast<int>(step.count()));
    step = std::min(step * 2, milliseconds(50));
    reap();
  }
}

JobEnd run_to_end(const std::filesystem::path& directory, const JobPlan& plan,
                  const std::function<void()>& started) {
  become_subreaper();
  SignalQueue signals({SIGCHLD, SIGTERM, SIGINT, SIGHUP});
  const UniqueFd out = open_for_append(directory / "launcher.out");
  const UniqueFd err = open_for_append(directory / "launcher.err");
  std::optional<LeaseListener> ranks;
  if (has_head(plan)) ranks.emplace();
  LeaseListener* const lease = ranks ? &*ranks : nullptr;
  process::Child child(command_of(plan, lease, out, err));
  const pid_t launcher = child.pid();
  child.release();
  started();
  Reaper reaper(launcher);
  JobEnd end;
  end.host = host_name();
  end.cause = Watch(directory, plan).wait(signals, reaper, lease);
  // The order may have reached ranks of other nodes before this process.
  const bool has_failed = reaper.ended() && !reaper.ended()->ok();
  if (has_failed && std::filesystem::exists(directory / kStoppedMark))
    end.cause = StopCause::request;
  if (end.cause == StopCause::cut_off) end.cut_off = ranks->cut_off_rank();
  if (end.cause != StopCause::none)
    end_launcher(directory, plan, end.cause, launcher, signals, reaper);
  const ProcessGroup all{
      .marker = marker_of(plan), .session = launcher, .descendants = Descendants::included};
  const auto reap = [&] { reaper.reap(); };
  // The programs of ranks that were ordered to end may still be ending.
  const bool is_well = end.cause == StopCause::none && reaper.ended() && reaper.ended()->ok();
  if (!is_well) wait_for_ranks(plan, reap);
  if (!is_well || !plan.keeps_processes) {
    end_processes(all, milliseconds(0), reap);
    end_groups(directory, plan.id);
  }
  end.how = reaper.ended().value_or(process::ExitStatus{.code = 0, .signal = SIGKILL});
  return end;
}

}  // namespace

LeaseWatch::LeaseWatch(std::filesystem::path file, milliseconds term)
    : file_(std::move(file)), term_(term), since_(SteadyClock::now()) {}

bool LeaseWatch::has_run_out() {
  if (term_.count() <= 0) return false;
  std::error_code ignored;  // A missing file was not renewed.
  const auto renewed = std::filesystem::last_write_time(file_, ignored);
  if (renewed != seen_) {
    seen_ = renewed;
    since_ = SteadyClock::now();
  }
  return SteadyClock::now() - since_ > term_;
}

void supervise(const std::filesystem::path& directory, const JobPlan& plan,
               const std::function<void()>& started) {
  ReservedFile status(directory / "status");
  JobEnd end;
  end.host = host_name();
  try {
    end = run_to_end(directory, plan, started);
  } catch (const Error& e) {
    end.reason = e.what();
    end.how.code = e.kind() == ErrorKind::not_found ? kNotThere : kNotAllowed;
  }
  end.ended = now_ns();
  status.commit(to_text(end));
  drop_secrets(directory);
  drop_shared_memory(plan.id);
  drop_dead_sessions();
  started();
}

}  // namespace fastgpu::agent
