#include "launcher/slurm_watch.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/wait.hpp"
#include "launcher/fan_out.hpp"
#include "launcher/followed_node.hpp"

namespace fastgpu::launcher {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

/// The time in which a batch script on the head reports its begin. Slurm is asked after it where
/// the script is, unless it has reported.
constexpr milliseconds kBeginOfScript{500};

}  // namespace

SlurmWatch::SlurmWatch(ssh::Client& asking, const ssh::Host& head, const SlurmTimes& times,
                       std::string id, LinkedCancel& following, JobObserver& observer)
    : asking_(asking),
      head_(head),
      times_(times),
      id_(std::move(id)),
      following_(following),
      observer_(observer),
      thread_([this] { ask_again_and_again(); }) {}

void SlurmWatch::end() {
  ended_.request();
  look_now();
  if (thread_.joinable()) thread_.join();
}

void SlurmWatch::wait_longer() {
  const std::scoped_lock lock(mutex_);
  may_wait_ = true;
}

void SlurmWatch::look_now() {
  {
    const std::scoped_lock lock(mutex_);
    is_woken_ = true;
  }
  woken_.notify_all();
}

std::optional<SlurmJob> SlurmWatch::job() const {
  const std::scoped_lock lock(mutex_);
  return job_;
}

std::optional<Error> SlurmWatch::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

void SlurmWatch::ask_again_and_again() {
  {
    std::unique_lock lock(mutex_);
    const auto is_woken = [this] { return is_woken_; };
    const milliseconds first = std::min(times_.before_first_look, kBeginOfScript);
    woken_.wait_for(lock, first, is_woken);
    if (may_wait_) woken_.wait_for(lock, times_.before_first_look - first, is_woken);
  }
  for (SlurmLooks looks = kFirstLooks; !is_done_ && !ended_.requested(); looks = kLaterLooks)
    if (!look(looks)) wait_or_cancel(times_.before_next_try, ended_);
}

bool SlurmWatch::look(const SlurmLooks& looks) noexcept try {
  const NodeAnswer answer = await_slurm(asking_, head_, id_, looks, ended_);
  const bool goes_on = still_runs(answer);
  const auto seen = goes_on ? std::nullopt : slurm_job_in(answer);
  silent_since_.reset();
  if (goes_on && !answer.out.empty()) report_queue(parse_slurm_job(answer.out));
  if (!seen || seen->phase != SlurmPhase::ended) return goes_on;
  {
    const std::scoped_lock lock(mutex_);
    job_ = seen;
  }
  note_slurm_end(asking_, head_, id_, *seen, ended_);
  is_done_ = true;
  return true;
} catch (const Error& e) {
  take(e);
  return false;
} catch (const std::exception& e) {
  fail(Error(ErrorKind::internal, e.what()));
  return false;
}

void SlurmWatch::report_queue(const SlurmJob& seen) {
  std::string reason = idle_reason(seen);
  if (reason == queue_) return;
  queue_ = std::move(reason);
  observer_.queued(id_, queue_);
}

void SlurmWatch::take(const Error& error) noexcept {
  if (ended_.requested()) return;
  if (!may_pass(error.kind())) return fail(error);
  const auto now = SteadyClock::now();
  if (!silent_since_) silent_since_ = now;
  if (now - *silent_since_ >= times_.controller_timeout) fail(error);
}

void SlurmWatch::fail(const Error& error) noexcept {
  is_done_ = true;
  {
    const std::scoped_lock lock(mutex_);
    failure_ = error;
  }
  following_.request();
}

}  // namespace fastgpu::launcher
