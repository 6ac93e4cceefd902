// Stops a job when the cloud announces that it takes one of the job's machines back.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/cancel.hpp"
#include "base/periodic_thread.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/spot_notices.hpp"

namespace fastgpu::cli {

/// Asks the nodes of a running job for notices, on a thread of its own. After the first notice that
/// a machine is taken back, stops the job on all of its nodes, within the grace of its programs:
/// its follower sees the end of it.
class NoticeWatch {
 public:
  /// Reads all that the thread needs from `services` now. Borrows their agent.
  NoticeWatch(Services& services, const OpenJob& open);
  ~NoticeWatch();
  NoticeWatch(const NoticeWatch&) = delete;
  NoticeWatch& operator=(const NoticeWatch&) = delete;

  /// Returns the notices after which the job was stopped; none if it was not stopped.
  std::vector<Notice> notices() const;

 private:
  void look() noexcept;

  std::unique_ptr<ssh::Client> client_;
  std::unique_ptr<launcher::JobEngine> engine_;
  const remote::AgentProgram& agent_;
  std::vector<ssh::Host> hosts_;
  std::string run_;
  launcher::JobRecord record_;
  Cancel ended_;
  mutable std::mutex mutex_;
  std::vector<Notice> notices_{};
  PeriodicThread thread_;  ///< The last member: the thread uses all others.
};

/// Returns a watch for a job that is started again after such an end; null for any other job, which
/// nothing ends early.
std::unique_ptr<NoticeWatch> watch_for_notices(Services& services, const OpenJob& open);

/// Returns the end of a job that was stopped after these notices.
launcher::JobOutcome outcome_after(const std::vector<Notice>& notices);

}  // namespace fastgpu::cli
