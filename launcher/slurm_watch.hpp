// Looks in Slurm for a job that is followed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/cancel.hpp"
#include "base/error.hpp"
#include "launcher/engines/slurm.hpp"
#include "launcher/job_observer.hpp"
#include "launcher/linked_cancel.hpp"
#include "launcher/slurm_script.hpp"
#include "ssh/client.hpp"
#include "ssh/host.hpp"

namespace fastgpu::launcher {

struct SlurmTimes {
  /// Before Slurm is asked about a job that is followed, unless a rank fails sooner. The end of a
  /// job that succeeds sooner is in its record.
  std::chrono::milliseconds before_first_look{1'000};
  std::chrono::milliseconds before_next_try{2'000};  ///< After a question without an answer.
  /// Following a job ends with an error once the controller has not answered for this long.
  std::chrono::milliseconds controller_timeout{60'000};
};

/// Asks Slurm about a job in a thread of its own, reports to the observer why it waits, and writes
/// the end of the job where the follower of its logs reads it. Ends the following if Slurm cannot
/// be asked.
class SlurmWatch {
 public:
  /// Borrows all but `times` and `id`.
  SlurmWatch(ssh::Client& asking, const ssh::Host& head, const SlurmTimes& times, std::string id,
             LinkedCancel& following, JobObserver& observer);
  ~SlurmWatch() { end(); }
  SlurmWatch(const SlurmWatch&) = delete;
  SlurmWatch& operator=(const SlurmWatch&) = delete;

  void end();

  /// Waits for as long as the job may succeed before it asks Slurm, which then has nothing to say.
  void wait_longer();

  /// Begins to ask Slurm, if that has not begun.
  void look_now();

  /// Returns the job that has ended.
  std::optional<SlurmJob> job() const;
  std::optional<Error> failure() const;

 private:
  void ask_again_and_again();

  /// Returns false where a further look should wait.
  bool look(const SlurmLooks& looks) noexcept;
  void report_queue(const SlurmJob& seen);
  void take(const Error& error) noexcept;
  void fail(const Error& error) noexcept;

  ssh::Client& asking_;
  const ssh::Host& head_;
  SlurmTimes times_;
  std::string id_;
  LinkedCancel& following_;
  Cancel ended_;
  JobObserver& observer_;
  bool is_done_ = false;  ///< Used by the thread alone, as are silent_since_ and queue_.
  std::string queue_{};   ///< The reason that was last reported.
  std::optional<std::chrono::steady_clock::time_point> silent_since_{};
  mutable std::mutex mutex_;
  std::condition_variable woken_;
  bool is_woken_ = false;
  bool may_wait_ = false;
  std::optional<SlurmJob> job_{};
  std::optional<Error> failure_{};
  std::jthread thread_;  ///< The last member: the thread uses all others.
};

}  // namespace fastgpu::launcher
