// The questions of a waiting job about the jobs before it: have they ended?
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/workflows/job_end_watch.hpp"
#include "cli/workflows/job_owner.hpp"
#include "cli/workflows/services.hpp"

namespace fastgpu::cli {

/// Asks about the jobs that others wait for: at once about those that may have just ended, and now
/// and then about all of them. Of all processes that wait for a job, one asks its nodes; the others
/// find the answer on record.
class QueueQuestions {
 public:
  /// Borrows `services`.
  explicit QueueQuestions(Services& services) : services_(services), ends_(services) {}

  /// Returns why the end of one of them is unknown, as of its last answer; empty if all have
  /// answered. Blocks for half a minute at most.
  std::string ask_about(const std::vector<std::string>& ids);

 private:
  void take_turns(const std::vector<state::Job>& jobs);
  void watch_ends(std::vector<state::Job> jobs);

  Services& services_;
  JobEndWatch ends_;
  /// The jobs that this process asks about, by their ids, and what their nodes did not answer.
  std::map<std::string, std::unique_ptr<JobAsker>> asked_here_{};
  std::map<std::string, std::string> silences_{};
  /// The jobs that are to be asked about now.
  std::set<std::string> due_{};
  Clock::time_point ask_all_at_{};
};

}  // namespace fastgpu::cli
