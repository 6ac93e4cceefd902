#include "agent/jobs/rank_run.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "agent/jobs/rank_front.hpp"
#include "agent/protocol/exit_codes.hpp"
#include "agent/protocol/plan.hpp"

namespace fastgpu::agent {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Makes the rank the cause of the end of its job.
void blame_disk(RankEnd& end) {
  end.told = false;
  end.how = {.code = kNoRoom};
  end.reason = "ended because its disk is full (--on-full stop)";
}

}  // namespace

RankRun::RankRun(process::Child child, std::chrono::milliseconds grace, const RankWatches& watches,
                 const std::filesystem::path& group)
    : memory_(child.pid(), group),
      child_(child.pid()),
      reaper_(child.pid()),
      grace_(grace),
      watches_(watches) {
  child.release();  // The reaper takes its status, among those of adopted orphans.
}

RankEnd RankRun::run(SignalQueue& signals) {
  RankEnd end;
  for (;;) {
    reaper_.reap();
    if (reaper_.ended()) {
      end.how = *reaper_.ended();
      const bool was_killed = end.how.signal == SIGKILL && !end.told;
      end.out_of_memory = was_killed && memory_.has_killed();
      watches_.clock.finish();
      if (is_ended_by_full_disk_ || has_failed_by_full_disk(end)) blame_disk(end);
      return end;
    }
    if (SteadyClock::now() >= kill_at_) signal_program(SIGKILL);
    if (watches_.lease.has_run_out()) pass_on(SIGTERM, end);
    RankInput* const input = watches_.input;
    pollfd fds[] = {{signals.fd(), POLLIN, 0},
                    {input != nullptr ? input->end_fd() : -1, POLLIN, 0},
                    {watches_.clock.fd(), POLLIN, 0},
                    watches_.lease.wanted()};
    ::poll(fds, 4, end.told ? 20 : nap());
    look(end);
    if (input != nullptr && fds[1].revents != 0) input->end();
    // If the program has ended by now, it ended by itself, even if signals have arrived
    // meanwhile.
    reaper_.reap();
    if (reaper_.ended()) continue;
    while (const auto number = signals.next())
      pass_on(*number, end);
  }
}

/// Returns true if the program has ended by itself, with a failure, while the disk of a job that
/// ends by this is full: its own write may have failed before the disk was looked at.
bool RankRun::has_failed_by_full_disk(const RankEnd& end) const {
  const bool has_failed = !end.told && end.how.signal == 0 && end.how.code != 0;
  return has_failed && watches_.full != nullptr && watches_.full->is_full();
}

/// Returns for how many milliseconds poll() may wait.
int RankRun::nap() const {
  int shortest = watches_.sampler.wait();
  const int full = watches_.full != nullptr ? watches_.full->wait() : -1;
  for (const int wait :
       {watches_.clock.wait(), watches_.idle.wait(), watches_.lease.wait(), full, memory_.wait()})
    if (wait >= 0) shortest = std::min(shortest, wait);
  return shortest;
}

void RankRun::look(RankEnd& end) {
  watches_.clock.look();
  if (watches_.clock.has_output()) watches_.news.report();
  watches_.idle.look();
  watches_.sampler.look();
  memory_.look();
  if (end.told) return;
  watches_.lease.look();
  if (watches_.full == nullptr || !watches_.full->look()) return;
  pass_on(SIGTERM, end);
  is_ended_by_full_disk_ = true;
}

void RankRun::pass_on(int number, RankEnd& end) {
  if (number == SIGCHLD || number == kLauncherGone) return;
  const bool ends = number != SIGUSR1 && number != SIGUSR2;
  if (ends && end.told) return;  // The launcher repeats its order when it ends.
  signal_program(number == kStopOrder ? SIGTERM : number);
  if (!ends) return;
  for (const pid_t pid : find_processes({.descendants = Descendants::included}))
    if (pid != child_ && ::getpgid(pid) != child_) ::kill(pid, SIGTERM);
  end.told = true;
  kill_at_ = SteadyClock::now() + grace_;
}

void RankRun::signal_program(int number) const {
  ::kill(-child_, number);
  if (::getpgid(child_) != child_) ::kill(child_, number);  // It has left its own group.
}

}  // namespace fastgpu::agent
