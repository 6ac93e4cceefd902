// The outcome of a job, from the known facts about its parts. Pure.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "agent/protocol/status.hpp"
#include "base/names.hpp"
#include "launcher/job.hpp"
#include "launcher/process_names.hpp"
#include "state/model.hpp"

namespace fastgpu::launcher {

struct LostNode {
  NodeName node;
  std::string why;
};

/// A directory of temporary files that cannot be written.
struct TemporaryFault {
  NodeName node;
  std::string path;
  std::string why;  ///< The words of the system: "Read-only file system".
};

/// A node of the job, and the name or address that its launcher uses for it.
struct LauncherName {
  std::string name;
  NodeName node;
};

/// Returns what messages call the program that starts the ranks: "mpirun", "the launcher".
std::string name_of_launcher(Launcher launcher);

/// All observations of a job.
struct JobReport {
  std::vector<NodeRanks> placement{};
  std::vector<agent::RankEnd> ranks{};      ///< Ranks that ended and could report it.
  std::optional<agent::JobEnd> launcher{};  ///< Absent: unknown, for example with its node lost.
  std::string launcher_tail{};              ///< The end of the launcher's stderr.
  std::string launcher_name{"mpirun"};      ///< The program that starts the ranks.
  std::vector<LauncherName> names{};        ///< The nodes as the launcher's words name them.
  std::string cluster{};                    ///< The user's name for the cluster.
  std::vector<LostNode> lost{};
  std::vector<state::FullDiskAt> full_disks{};
  /// The directories of temporary files that cannot be written, if the launcher has failed by
  /// itself.
  std::vector<TemporaryFault> temporary_faults{};
  /// Nodes that did not answer after the end of the job, although a rank is the cause of it.
  std::vector<NodeName> unreached{};
  /// Nodes that did not answer this machine when it asked last.
  std::vector<LostNode> unanswered{};
  std::set<int> hanging{};  ///< The idle ranks, if no rank did anything for too long.
  /// True if all ranks ended, the launcher did not within the hang timeout, and we have ended it.
  bool launcher_stayed = false;
  bool cancelled = false;   ///< Cancelled by us.
  bool is_unknown = false;  ///< The node of the supervisor has answered, and has no such job.
  std::string silence{};    ///< Why that node did not answer a glance; empty if it did.
  std::chrono::milliseconds lease{0};
  std::chrono::milliseconds timeout{0};
  std::chrono::milliseconds hang_timeout{0};
};

struct JobOutcome {
  state::JobState state = state::JobState::succeeded;
  int exit_code = 0;
  std::string reason{};  ///< One sentence; empty for a success in which nothing was wrong.
  std::optional<int> first_rank{};               ///< The rank that failed first by itself.
  std::optional<state::FirstFailure> failure{};  ///< That rank and how it ended.
  JobEndCause cause = JobEndCause::none;
  std::vector<NodeName> lost{};        ///< Nodes that did not answer any more.
  std::vector<LostNode> unanswered{};  ///< The ones among them that did not answer this machine.
  std::vector<state::FullDiskAt> full_disks{};
  std::vector<NodeName> without_folder{};  ///< Nodes that have answered, without the job's folder.
  bool explains_launcher = false;  ///< The reason has all that the words of the launcher say.
  std::string nodes{};  ///< The nodes that the engine has chosen; empty if the placement has them.
  /// The time when the first rank began, where the engine, and not fastgpu, has started the ranks.
  std::optional<state::TimePoint> began{};
  /// The time on our clock at which the job ended, to about a second; absent if that is not known.
  std::optional<state::TimePoint> ended{};
};

/// Returns the moment on our clock at which a rank ended by the clock of its node. `offset` is the
/// node's clock less ours, as measured: a small one is ignored, because the measurement includes
/// the time that the message took.
std::int64_t on_our_clock(std::int64_t ended, std::optional<std::int64_t> offset);

/// Returns the time on our clock at which the last rank ended; if not all of them have reported
/// their end, that of the launcher, unless one of these was later. Absent if that is unknown, too.
std::optional<state::TimePoint> last_end(const JobReport& report);

/// Decides. The exit code is that of the rank that failed first by itself, by the clocks of the
/// nodes, which on_our_clock has corrected: ranks that ended on request are collateral, and so are
/// those that blame another one, unless all do. It is 124 for a timeout and for a hang, 130 for a
/// cancel, 1 if the program is not the cause.
JobOutcome decide(const JobReport& report);

/// Returns true for a job that failed by itself if its first rank to end had been ordered to end,
/// or none of them failed by itself: the order to cancel the job may be on its way to the first
/// node.
bool may_be_cancelled(const JobReport& report);

/// Returns true if every rank that has not ended is idle, and there is one. The job then hangs.
bool is_hanging(std::span<const NodeRanks> placement, const std::set<int>& ended,
                const std::set<int>& idle);

}  // namespace fastgpu::launcher
