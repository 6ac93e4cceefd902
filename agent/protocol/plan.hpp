// What the agent is to run, as the files of a job directory say it.
//
// A job directory (0700) holds:
//   spec               what the supervisor runs; only on the node where the job starts
//   rank               what every rank on this node runs; only on nodes with ranks
//   lock, started      held and written by the supervisor while it lives
//   stopped            somebody asked for its end, perhaps before it began
//   lease              its modification time is the last sign of life of the job's owner
//   launcher.out/.err  the output of what the supervisor runs
//   status             how that ended
//   ranks/<r>.out/.err/.status
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// The marker in the environment of everything that belongs to a job.
inline constexpr std::string_view kJobMarker = "FASTGPU_JOB_ID";
inline constexpr std::string_view kExecMarker = "FASTGPU_EXEC_ID";

inline constexpr const char* kStoppedMark = "stopped";

struct Plan {
  std::string id;  ///< The job's.
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< "K=V", added to what the agent finds.
  std::string directory;                 ///< Working directory; relative to home, empty is home.
  std::chrono::milliseconds lease{0};    ///< Without a sign of life for so long it ends; 0: never.
  std::chrono::milliseconds timeout{0};  ///< 0: none.
  std::string port_variable;             ///< Set to a free TCP port before the start; empty: none.
  std::vector<int> ranks;                ///< Those that run on this node.
};

std::string to_text(const Plan& plan);
Plan parse_plan(std::string_view text);  ///< Throws remote.

}  // namespace fastgpu::agent
