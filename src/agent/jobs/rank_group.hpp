// Control groups (cgroup v2) for the programs of ranks: what a program starts stays in its group,
// whatever session, parent and environment it has.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace fastgpu::agent {

/// Returns the directory of a process's control group, from its /proc/PID/mountinfo and
/// /proc/PID/cgroup; absent if no cgroup v2 is mounted, its mount does not show the group, or the
/// group is outside this namespace. Pure.
std::optional<std::filesystem::path> unified_group(std::string_view mountinfo,
                                                   std::string_view cgroups);

/// The group of one rank's program, below the group of the agent that starts it.
class RankGroup {
 public:
  /// Creates the group, records it in the job's folder, and moves this process into it, so that
  /// what it starts is in the group. Absent if this node does not let us.
  static std::optional<RankGroup> enter(const std::filesystem::path& job_directory,
                                        const std::string& job_id, int rank);

  /// Moves this process back. If that fails, gives the group up: nothing is killed by it.
  void leave() noexcept;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  RankGroup(std::filesystem::path path, std::filesystem::path outer, std::filesystem::path record)
      : path_(std::move(path)), outer_(std::move(outer)), record_(std::move(record)) {}

  std::filesystem::path path_;
  std::filesystem::path outer_;   ///< The group that this process was in.
  std::filesystem::path record_;  ///< The file in the job's folder.
};

/// Kills all processes in the recorded groups of a job on this node, and removes the groups. Waits
/// for at most five seconds. Never throws.
void end_groups(const std::filesystem::path& job_directory, const std::string& job_id) noexcept;

/// Removes the recorded groups that have no process. Never throws.
void remove_empty_groups(const std::filesystem::path& job_directory,
                         const std::string& job_id) noexcept;

}  // namespace fastgpu::agent
