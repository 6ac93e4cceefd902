// The kernel's counts of processes that it killed because memory was used up.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// Returns the count in a file of the kernel with lines "NAME COUNT" (`memory.events`,
/// `memory.oom_control`, `/proc/vmstat`); 0 if it has no count. Pure.
std::int64_t oom_kills_in(std::string_view text);

/// Returns the places of the files with the counts of a process, from its /proc/PID/cgroup: those
/// of cgroup v2, of v1, and the whole system's. The files need not exist. Pure.
std::vector<std::filesystem::path> memory_event_files(std::string_view cgroups);

/// Notices kills for lack of memory since its construction.
class MemoryWatch {
 public:
  /// Watches the control group `group` if it counts kills, and else that of this process. An empty
  /// path names another thing than a group.
  explicit MemoryWatch(const std::filesystem::path& group = {});
  /// Returns true if the kernel has killed a process of the group, or, where the group's count is
  /// not readable, any process of the system.
  bool has_killed() const;

 private:
  std::filesystem::path file_;  ///< Empty if no count is readable.
  std::int64_t before_ = 0;
};

}  // namespace fastgpu::agent
