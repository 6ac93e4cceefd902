// The two processes of a rank. The launcher sees the first one, which only passes on signals. The
// second one runs the program, and outlives the first one while the program ends.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <filesystem>

#include "agent/protocol/status.hpp"
#include "agent/signals.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// The signal to the first process when its launcher has gone. It is not SIGTERM, because the
/// kernel also sends it when only a thread of the launcher ends.
inline constexpr int kLauncherGone = SIGWINCH;

/// The link of the second process to the first one.
struct Front {
  pid_t launcher = 0;   ///< The parent of the first process: mpirun, or its daemon.
  UniqueFd early_code;  ///< Takes the exit code if this process outlives the program.
};

// ---- the first process ----

/// Waits for the process that runs the program and passes signals on to it. Returns its exit code,
/// which comes by `from` if that process goes on after its program.
int stand_for(pid_t other, pid_t launcher, UniqueFd from, SignalQueue& signals);

// ---- the second process ----

/// Detaches this process, so that it survives if the launcher kills the first process by SIGKILL:
/// the program must still be ended, which may take time.
void outlive(pid_t parent);

/// Gives the rank that `end` blames time to end. Returns earlier on an order to end, which comes as
/// soon as that rank has failed on any node, and once it has ended on this node. `ranks` is the
/// folder with the ends of the ranks.
void wait_for_blamed(const std::filesystem::path& ranks, const RankEnd& end, SignalQueue& signals);

/// Ends the processes that the program has left behind, in whatever session: other ranks may use
/// them while the job runs, but they do not outlive it.
void end_the_rest(bool is_stopped, int code, Front& front, SignalQueue& signals);

}  // namespace fastgpu::agent
