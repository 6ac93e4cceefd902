// The program of a rank while it runs: its signals, and what is looked after meanwhile.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>

#include "agent/jobs/batch_news.hpp"
#include "agent/jobs/full_watch.hpp"
#include "agent/jobs/idle_watch.hpp"
#include "agent/jobs/log_times.hpp"
#include "agent/jobs/memory_events.hpp"
#include "agent/jobs/processes.hpp"
#include "agent/jobs/rank_input.hpp"
#include "agent/jobs/rank_lease.hpp"
#include "agent/jobs/usage_sampler.hpp"
#include "agent/protocol/status.hpp"
#include "agent/signals.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {

/// The parts of a rank that are looked after while its program runs.
struct RankWatches {
  RankInput* input = nullptr;  ///< Null for a rank without input.
  LogClock& clock;
  IdleWatch& idle;
  UsageSampler& sampler;
  RankLease& lease;
  FullWatch* full = nullptr;  ///< Null if a full disk does not end the program.
  BatchNews& news;
};

/// A program of a rank that runs. It ends by itself, by a signal, or because of what is looked
/// after.
class RankRun {
 public:
  /// `child` leads a process group of its own. `group` is the folder of its control group; empty
  /// for none.
  RankRun(process::Child child, std::chrono::milliseconds grace, const RankWatches& watches,
          const std::filesystem::path& group);

  /// Runs until the program has ended, and passes on signals.
  RankEnd run(SignalQueue& signals);

 private:
  int nap() const;
  bool has_failed_by_full_disk(const RankEnd& end) const;
  void look(RankEnd& end);
  void pass_on(int number, RankEnd& end);
  void signal_program(int number) const;

  MemoryWatch memory_;
  pid_t child_;
  Reaper reaper_;
  std::chrono::milliseconds grace_;
  RankWatches watches_;
  bool is_ended_by_full_disk_ = false;
  std::chrono::steady_clock::time_point kill_at_ = std::chrono::steady_clock::time_point::max();
};

}  // namespace fastgpu::agent
