// The kernel's counts of processes that it killed because memory was used up.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// Returns the count in a file of the kernel with lines "NAME COUNT" (`memory.events`,
/// `memory.oom_control`, `/proc/vmstat`); 0 if it has no count. Pure.
std::int64_t oom_kills_in(std::string_view text);

/// Returns the places of the files with the counts of a process, from its /proc/PID/cgroup: those
/// of cgroup v2, of v1, and the whole system's. The files need not exist. Pure.
std::vector<std::filesystem::path> memory_event_files(std::string_view cgroups);

/// Returns true if a process has got SIGKILL, or is ending, by the texts of its /proc/PID/stat and
/// /proc/PID/status; also for the empty texts of one that has gone. Pure.
bool is_being_killed(std::string_view stat, std::string_view status);

/// Decides whether a kill that the kernel has counted was that of one program. The count is that of
/// a whole group, or of the system, and rises just before the signal is sent: a kill after which
/// the program goes on was that of another one. Pure: the caller has the clock.
class KillCount {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `count` is the count at the start of the program.
  explicit KillCount(std::int64_t count = 0) : count_(count) {}

  /// Adds an observation of the count and of the program.
  void observe(Time now, std::int64_t count, bool is_being_killed);
  /// Returns true if the program was being killed when the count rose, or within a second of it.
  bool was_the_program() const noexcept { return was_the_program_; }

 private:
  std::int64_t count_;
  std::optional<Time> risen_at_;
  bool was_the_program_ = false;
};

/// Notices that the kernel kills a program for lack of memory.
class MemoryWatch {
 public:
  /// Watches the counts of the control group `group` if it has any, and else those of the group of
  /// this process, or of the system. An empty path stands for no group.
  MemoryWatch(pid_t program, const std::filesystem::path& group);

  /// Returns for how many milliseconds poll() may wait; -1 for any time.
  int wait() const noexcept;
  /// Observes the program if it is time to.
  void look();
  /// Returns true if the program, which SIGKILL has ended by now, was killed for lack of memory.
  bool has_killed();

 private:
  void observe(bool is_being_killed);

  pid_t program_;
  std::filesystem::path file_;  ///< Empty if no count is readable.
  KillCount kills_;
  KillCount::Time next_{};
};

}  // namespace fastgpu::agent
