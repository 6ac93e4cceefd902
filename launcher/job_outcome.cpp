#include "launcher/job_outcome.hpp"

#include <algorithm>
#include <cstdint>

#include "base/join.hpp"
#include "base/units.hpp"
#include "process/exit_status.hpp"

namespace fastgpu::launcher {
namespace {

using agent::JobEnd;
using agent::RankEnd;
using agent::StopCause;
using state::JobState;

const RankEnd* first_failure(const JobReport& report) {
  const RankEnd* first = nullptr;
  for (const RankEnd& rank : report.ranks) {
    if (rank.told || rank.how.ok()) continue;
    if (first == nullptr || rank.ended < first->ended) first = &rank;
  }
  return first;
}

JobOutcome failed(int code, const std::string& reason) {
  return {.state = JobState::failed, .exit_code = code, .reason = reason};
}

JobOutcome lost(const std::string& reason) {
  return {.state = JobState::lost, .exit_code = 1, .reason = reason};
}

JobOutcome of_rank(const RankEnd& rank, const JobReport& report) {
  const std::string memory = rank.out_of_memory ? " (out of memory)" : "";
  const std::string what = rank.reason.empty() ? describe(rank.how) + memory : rank.reason;
  const std::string node = node_of(report.placement, rank.rank).value;
  const std::string full = rank.full.empty() ? "" : "; no space left on " + node + ": " + rank.full;
  JobOutcome outcome = failed(rank.how.shell_code(), "rank " + std::to_string(rank.rank) + " on " +
                                                         node + ": " + what + full);
  outcome.first_rank = rank.rank;
  outcome.failure = state::FirstFailure{
      .rank = rank.rank,
      .node = {node},
      .signal = rank.how.signal == 0 ? "" : process::signal_name(rank.how.signal),
      .out_of_memory = rank.out_of_memory};
  return outcome;
}

JobOutcome of_lost_nodes(const JobReport& report) {
  std::string names;
  for (const LostNode& node : report.lost)
    append_item(names, node.node.value);
  return lost("lost contact with " + names + ": " + report.lost.front().why);
}

std::string first_node(const JobReport& report) {
  return report.placement.empty() ? "the first node" : report.placement.front().node.value;
}

std::string with_tail(const std::string& reason, const JobReport& report) {
  return report.launcher_tail.empty() ? reason : reason + ":\n" + report.launcher_tail;
}

/// Returns the outcome if the launcher failed, and no rank did so by itself.
JobOutcome of_launcher(const JobEnd& end, const JobReport& report) {
  const std::string where = " on " + first_node(report);
  if (!end.reason.empty())
    return failed(end.how.shell_code(),
                  report.launcher_name + " could not be started" + where + ": " + end.reason);
  const int code = end.how.shell_code() == 0 ? 1 : end.how.shell_code();
  return failed(code, with_tail(report.launcher_name + where + " " + describe(end.how), report));
}

std::optional<JobOutcome> of_stop(const JobEnd& end, const JobReport& report) {
  switch (end.cause) {
    case StopCause::none:
      return std::nullopt;
    case StopCause::request:
      return JobOutcome{.state = JobState::cancelled, .exit_code = 130, .reason = "cancelled"};
    case StopCause::timeout:
      return failed(124, "ran longer than " + to_string(report.timeout));
    case StopCause::lease:
      return lost("stopped by its node after " + to_string(report.lease) +
                  " without contact with this machine");
    case StopCause::vanished:
      return lost("the supervisor on " + first_node(report) +
                  " vanished: it was killed, or the node restarted");
  }
  return std::nullopt;
}

}  // namespace

std::string name_of_launcher(Launcher launcher) {
  return launcher == Launcher::plain ? "the launcher" : "mpirun";
}

NodeName node_of(std::span<const NodeRanks> placement, int rank) {
  const auto found = std::ranges::find_if(placement, [rank](const NodeRanks& node) {
    return rank >= node.first && rank < node.first + node.count;
  });
  return found == placement.end() ? NodeName{"an unknown node"} : found->node;
}

std::int64_t on_our_clock(std::int64_t ended, std::optional<std::int64_t> offset) {
  constexpr std::int64_t kSmall = 1'000'000'000;
  if (!offset || (*offset > -kSmall && *offset < kSmall)) return ended;
  return ended - *offset;
}

JobOutcome decide(const JobReport& report) {
  if (report.cancelled)
    return {.state = JobState::cancelled, .exit_code = 130, .reason = "cancelled"};
  if (!report.lost.empty()) return of_lost_nodes(report);
  // This comes before the ranks: a rank's reaction to another's end does not count as its failure.
  if (report.launcher)
    if (const auto outcome = of_stop(*report.launcher, report)) return *outcome;
  if (const RankEnd* rank = first_failure(report)) return of_rank(*rank, report);
  if (!report.launcher) return lost("its end on " + first_node(report) + " is unknown");
  if (!report.launcher->how.ok()) return of_launcher(*report.launcher, report);
  return {};
}

}  // namespace fastgpu::launcher
