// Finds and ends all processes that belong together, even if they tried to get away.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace fastgpu::agent {

enum class Offspring : std::uint8_t { ignored, included };

/// A set of processes: those with the marker in their environment, those in the session, and the
/// descendants of this process. The latter requires a subreaper, to which orphans return. Never
/// this process itself.
struct Belonging {
  std::string marker{};  ///< "FASTGPU_JOB_ID=x"; empty: not used.
  pid_t session = 0;     ///< 0: not used.
  Offspring offspring = Offspring::ignored;
};

/// Returns the pids of all existing processes, zombies included.
std::vector<pid_t> all_pids();

/// Returns a file of /proc/<pid>; empty if the process has gone or is not accessible.
std::string proc_file(pid_t pid, const char* name);

/// Finds the processes, without zombies. Skips processes of other users that we cannot read.
std::vector<pid_t> find_processes(const Belonging& who);

/// Waits until all of them have ended, at most `limit`. `reap` is called between looks.
void wait_for_end(const Belonging& who, std::chrono::milliseconds limit,
                  const std::function<void()>& reap);

/// Sends SIGTERM to all, and SIGKILL to those left after `grace`, repeatedly until all are gone or
/// five more seconds have passed. `reap` is called between rounds. Returns how many are left.
std::size_t end_processes(const Belonging& who, std::chrono::milliseconds grace,
                          const std::function<void()>& reap);

}  // namespace fastgpu::agent
