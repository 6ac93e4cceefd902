// What the agent is to run, as the files of a job directory say it.
//
// A job directory (0700) holds:
//   spec               what the supervisor runs; only on the node where the job starts
//   rank               what every rank on this node runs; only on nodes with ranks
//   variables          the environment of those ranks, secrets included; gone once they have ended
//   comm-secret        what the ranks' library proves by that they belong together; gone with them
//   lock, started      held and written by the supervisor while it lives
//   stopped            somebody asked for its end, perhaps before it began
//   lease              its modification time is the last sign of life of the job's owner
//   input, input.end   pipes to rank 0, where it is given input; input.at says how far that has
//   come launcher.out/.err  the output of what the supervisor runs status             how that
//   ended ranks/<r>.out/.err/.status
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
inline constexpr const char* kVariables = "variables";
inline constexpr const char* kCommSecret = "comm-secret";

/// The agent's exit code where a disk is full, or nothing else is left of what it needs.
inline constexpr int kNoRoom = 4;

struct Plan {
  std::string id;  ///< The job's.
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< "K=V", added to what the agent finds.
  std::string directory;                 ///< Working directory; relative to home, empty is home.
  std::chrono::milliseconds lease{0};    ///< Without a sign of life for so long it ends; 0: never.
  std::chrono::milliseconds timeout{0};  ///< 0: none.
  std::vector<std::string> port_variables;  ///< Each is set to a free TCP port of its own.
  std::vector<int> ranks;                   ///< Those that run on this node.
  bool has_input = false;                   ///< Rank 0 reads what `job-input` brings.
};

std::string to_text(const Plan& plan);
Plan parse_plan(std::string_view text);  ///< Throws remote.

/// The content of the file of variables: "K=V" each.
std::string variables_text(const std::vector<std::string>& assignments);
std::vector<std::string> parse_variables(std::string_view text);  ///< Throws remote.

}  // namespace fastgpu::agent
