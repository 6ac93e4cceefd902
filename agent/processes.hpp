// Finds and ends everything that belongs together, however it tried to get away.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace fastgpu::agent {

enum class Offspring : std::uint8_t { ignored, included };

/// What belongs together: whoever has the marker in its environment, is in the session, or (with a
/// subreaper, to which orphans return) descends from this process. Never this process itself.
struct Belonging {
  std::string marker{};  ///< "FASTGPU_JOB_ID=x"; empty: nobody by marker.
  pid_t session = 0;     ///< 0: nobody by session.
  Offspring offspring = Offspring::ignored;
};

/// Of every process that there is, zombies included.
std::vector<pid_t> all_pids();

/// A file of /proc/<pid>; empty where the process has gone or is not ours to see.
std::string proc_file(pid_t pid, const char* name);

/// Zombies are not counted. Processes of other users that we cannot look into are passed over.
std::vector<pid_t> find_processes(const Belonging& who);

/// Waits until all of them have ended, and for at most `limit`. `reap` is called between looks.
void wait_for_end(const Belonging& who, std::chrono::milliseconds limit,
                  const std::function<void()>& reap);

/// SIGTERM to all, SIGKILL to what is left after `grace`, again until nobody is left or five
/// seconds after that have passed. `reap` is called between rounds. Returns how many are left.
std::size_t end_processes(const Belonging& who, std::chrono::milliseconds grace,
                          const std::function<void()>& reap);

}  // namespace fastgpu::agent
