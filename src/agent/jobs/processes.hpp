// Finds and ends all processes that belong together, even those that have detached themselves.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fastgpu::agent {

enum class Descendants : std::uint8_t { ignored, included };

/// A set of processes: those with the marker in their environment, those in the session, the
/// descendants of both, and the descendants of this process. The last group needs a subreaper, to
/// which orphans return. Never includes this process itself.
struct ProcessGroup {
  std::string marker{};  ///< "FASTGPU_JOB_ID=x"; empty if not used.
  pid_t session = 0;     ///< The id of a session; 0 if not used.
  Descendants descendants = Descendants::ignored;
};

/// Returns the ids of all processes, including zombies.
std::vector<pid_t> all_pids();

/// Returns the content of /proc/<pid>/<name>; "" if the process has gone or is not accessible.
std::string proc_file(pid_t pid, const char* name);

/// Finds the processes, without zombies. Skips processes of other users that we cannot read.
std::vector<pid_t> find_processes(const ProcessGroup& who);

/// Returns true if a process was started with this NAME=VALUE in its environment.
bool has_marker(pid_t pid, const std::string& marker);

/// Sends SIGTERM to the agents that run ranks of this job, which then end their programs. Returns
/// how many there are. Repeating the order changes nothing.
std::size_t order_ranks(const std::string& marker);

/// Waits until all of them have ended, for at most `limit`. Calls `reap` repeatedly.
void wait_for_end(const ProcessGroup& who, std::chrono::milliseconds limit,
                  const std::function<void()>& reap);

/// Sends SIGTERM to all of them. After `grace`, sends SIGKILL to the rest, repeatedly until all
/// have ended or five more seconds have passed. Calls `reap` repeatedly. Returns how many are left.
std::size_t end_processes(const ProcessGroup& who, std::chrono::milliseconds grace,
                          const std::function<void()>& reap);

}  // namespace fastgpu::agent
