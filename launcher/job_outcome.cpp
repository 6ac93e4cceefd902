#include "launcher/job_outcome.hpp"

#include <signal.h>
#include <iterator>

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "agent/protocol/exit_codes.hpp"
#include "agent/protocol/silence.hpp"
#include "agent/protocol/start_lines.hpp"
#include "base/contains.hpp"
#include "base/join.hpp"
#include "base/units.hpp"
#include "launcher/engines/mpirun_words.hpp"
#include "launcher/placement.hpp"
#include "process/exit_status.hpp"

namespace fastgpu::launcher {
namespace {

using agent::JobEnd;
using agent::RankEnd;
using agent::StopCause;
using state::JobState;

/// Returns the ranks that failed by themselves, by the time of their end.
std::vector<const RankEnd*> failures(const JobReport& report) {
  std::vector<const RankEnd*> failed;
  for (const RankEnd& rank : report.ranks)
    if (!rank.told && !rank.how.ok()) failed.push_back(&rank);
  std::ranges::stable_sort(failed, {}, &RankEnd::ended);
  return failed;
}

/// Returns the rank that is to blame for the end of the job; null if none failed by itself. A rank
/// that blames another one may end before it: the other one leaves the communicator first, and its
/// process ends later.
const RankEnd* first_failure(const JobReport& report) {
  const std::vector<const RankEnd*> failed = failures(report);
  if (failed.empty()) return nullptr;
  const auto blames_none = [](const RankEnd* one) { return !one->blames; };
  const auto own = std::ranges::find_if(failed, blames_none);
  if (own != failed.end()) return *own;
  const auto all_blame = [&](const RankEnd* one) {
    return std::ranges::all_of(
        failed, [&](const RankEnd* other) { return other == one || other->blames == one->rank; });
  };
  const auto culprit = std::ranges::find_if(failed, all_blame);
  return culprit != failed.end() ? *culprit : failed.front();
}

/// Returns true if the first of the ranks that ended badly was ordered to end, or if none did.
bool began_with_an_order(const JobReport& report) {
  const RankEnd* first = nullptr;
  for (const RankEnd& rank : report.ranks)
    if (!rank.how.ok() && (first == nullptr || rank.ended < first->ended)) first = &rank;
  return first == nullptr || first->told;
}

constexpr int kTimedOut = 124;

JobOutcome failed(int code, const std::string& reason, JobEndCause cause) {
  JobOutcome outcome{.state = JobState::failed, .exit_code = code, .reason = reason};
  outcome.cause = cause;
  return outcome;
}

JobOutcome lost(const std::string& reason, JobEndCause cause) {
  JobOutcome outcome{.state = JobState::lost, .exit_code = 1, .reason = reason};
  outcome.cause = cause;
  return outcome;
}

JobOutcome cancelled() {
  JobOutcome outcome{.state = JobState::cancelled, .exit_code = 130, .reason = "cancelled"};
  outcome.cause = JobEndCause::cancelled;
  return outcome;
}

JobOutcome of_hang(const JobReport& report) {
  return failed(kTimedOut,
                processes_text(report.placement, report.hanging) +
                    " hung: no output, processor time or traffic for " +
                    to_string(report.hang_timeout),
                JobEndCause::hang);
}

/// Returns how a rank has failed, in words.
std::string failure_of(const RankEnd& rank, const JobReport& report) {
  if (!rank.reason.empty()) return rank.reason;
  const auto abort = abort_named_by_mpirun(report.launcher_tail, total_ranks(report.placement));
  if (abort && abort->rank == rank.rank && rank.how.signal == 0) return abort->what;
  return describe(rank.how) + (rank.out_of_memory ? " (out of memory)" : "");
}

/// Returns why a rank has failed if it blames one that did not fail itself: one that had ended
/// well, or one that ran until it was ordered to end. That one may hang.
std::string of_blamed(const RankEnd& failed, const JobReport& report) {
  const auto is_blamed = [&](const RankEnd& one) { return failed.blames == one.rank; };
  const auto blamed = std::ranges::find_if(report.ranks, is_blamed);
  if (blamed == report.ranks.end() || blamed->rank == failed.rank) return "";
  const std::string who = process_on_node(report.placement, blamed->rank);
  if (blamed->told) return ", because of " + who + ", which was still running";
  return blamed->how.ok() ? ", because " + who + " had ended before (exit code 0)" : "";
}

JobOutcome of_rank(const RankEnd& rank, const JobReport& report) {
  const std::string what = failure_of(rank, report) + of_blamed(rank, report);
  const std::string node = node_of(report.placement, rank.rank).value;
  const std::string full = rank.full.empty() ? "" : "; no space left on " + node + ": " + rank.full;
  const bool is_node_lost = !report.unreached.empty();
  JobOutcome outcome = failed(rank.how.shell_code(),
                              process_on_node(report.placement, rank.rank) + ": " + what + full,
                              is_node_lost ? JobEndCause::node_loss : JobEndCause::failure);
  outcome.lost = report.unreached;
  outcome.first_rank = rank.rank;
  outcome.failure = state::FirstFailure{
      .rank = rank.rank,
      .node = {node},
      .exit_code = rank.how.shell_code(),
      .signal = rank.how.signal == 0 ? "" : process::signal_name(rank.how.signal),
      .out_of_memory = rank.out_of_memory,
      .full_disk = rank.full,
      .last_lines = rank.last_lines};
  return outcome;
}

JobOutcome of_lost_nodes(const JobReport& report) {
  std::string names;
  for (const LostNode& node : report.lost)
    append_item(names, node.node.value);
  JobOutcome outcome =
      lost("lost contact with " + names + ": " + report.lost.front().why, JobEndCause::node_loss);
  for (const LostNode& node : report.lost)
    outcome.lost.push_back(node.node);
  return outcome;
}

std::string first_node(const JobReport& report) {
  return report.placement.empty() ? "the first node" : report.placement.front().node.value;
}

/// Returns the reason with the essential words of the launcher after a colon.
std::string with_words(const std::string& reason, std::string_view words) {
  const std::string gist = gist_of(words);
  return gist.empty() ? reason : reason + ": " + gist;
}

/// Returns the outcome if a rank has called MPI_Abort, or an error of MPI has ended the job. The
/// rank itself then ends by a signal, like all others. MPI_Abort with code 0 fails a job, too:
/// ranks were killed.
JobOutcome of_abort(const MpiAbort& abort, const JobEnd& end, const JobReport& report) {
  const int own = end.how.shell_code() != 0 ? end.how.shell_code() : abort.code & 0xff;
  const int code = own == 0 ? 1 : own;
  const std::string who = abort.rank ? process_on_node(report.placement, *abort.rank) : "a rank";
  JobOutcome outcome =
      failed(code, who + (abort.rank ? ": " : " ") + abort.what, JobEndCause::failure);
  outcome.explains_launcher = true;
  if (!abort.rank) return outcome;
  outcome.first_rank = abort.rank;
  outcome.failure = state::FirstFailure{
      .rank = *abort.rank, .node = node_of(report.placement, *abort.rank), .exit_code = code};
  return outcome;
}

JobOutcome of_unfinalized(int rank, int code, const JobReport& report) {
  const NodeName node = node_of(report.placement, rank);
  JobOutcome outcome =
      failed(code,
             process_on_node(report.placement, rank) +
                 ": ended without MPI_Init or without MPI_Finalize, and mpirun ended the "
                 "other ranks",
             JobEndCause::failure);
  outcome.first_rank = rank;
  outcome.failure = state::FirstFailure{.rank = rank, .node = node};
  const auto end = std::ranges::find(report.ranks, rank, &RankEnd::rank);
  if (end != report.ranks.end()) outcome.failure->exit_code = end->how.shell_code();
  return outcome;
}

/// Returns the nodes some of whose ranks have not reported their end: "demo-0 or demo-1".
std::string silent_nodes(const JobReport& report) {
  std::string names;
  for (const NodeRanks& node : report.placement) {
    int known = 0;
    for (const RankEnd& rank : report.ranks)
      known += rank.rank >= node.first && rank.rank < node.first + node.count ? 1 : 0;
    if (known < node.count) append_item(names, node.node.value, " or ");
  }
  return names;
}

/// Returns the outcome if an agent found no room on its node for the files of the job. It could not
/// write that down there, so it says it by its exit code alone.
JobOutcome of_no_room(const std::string& who, const std::string& where) {
  return failed(agent::kNoRoom,
                who + ": no space left on " + where + " for the files of the job (~/.fastgpu/jobs)",
                JobEndCause::launcher);
}

/// Returns the outcome if an agent may not write the files of the job on its node.
JobOutcome of_read_only(const std::string& who, const std::string& where) {
  return failed(agent::kNotAllowed,
                who + ": the files of the job (~/.fastgpu/jobs) cannot be written on " + where +
                    ": the file system is read-only, or they belong to another user",
                JobEndCause::launcher);
}

/// Returns the outcome if the launcher names a rank that could not report its own end.
JobOutcome of_silent_rank(const NamedRank& named, const JobReport& report) {
  const NodeName node = node_of(report.placement, named.rank);
  if (named.how.signal == 0 && named.how.code == agent::kNoRoom)
    return of_no_room("rank " + std::to_string(named.rank), node.value);
  if (named.how.signal == 0 && named.how.code == agent::kNotAllowed)
    return of_read_only("rank " + std::to_string(named.rank), node.value);
  const int code = named.how.shell_code();
  JobOutcome outcome =
      failed(code,
             process_on_node(report.placement, named.rank) + ": the agent that ran it " +
                 (named.how.signal == 0 ? "" : "was ") + describe(named.how),
             JobEndCause::failure);
  outcome.first_rank = named.rank;
  outcome.failure = state::FirstFailure{
      .rank = named.rank,
      .node = node,
      .exit_code = code,
      .signal = named.how.signal == 0 ? "" : process::signal_name(named.how.signal)};
  return outcome;
}

/// Returns "; no space left on demo-1: /tmp", or "; /tmp on demo-1 cannot be written: Read-only
/// file system"; empty if the directories of temporary files can be written.
std::string temporary_faults(const JobReport& report) {
  std::string full, others;
  for (const TemporaryFault& fault : report.temporary_faults) {
    const bool is_full =
        fault.why.starts_with("No space left") || fault.why.ends_with("quota exceeded");
    if (is_full)
      append_item(full, fault.node.value + ": " + fault.path);
    else
      others += "; " + fault.path + " on " + fault.node.value + " cannot be written: " + fault.why;
  }
  return (full.empty() ? "" : "; no space left on " + full) + others;
}

/// Returns the node of the job that the launcher's words name; absent if the job has none of that
/// name.
std::optional<NodeName> node_named(const std::string& word, const JobReport& report) {
  const auto known = std::ranges::find(report.names, word, &LauncherName::name);
  if (known != report.names.end()) return known->node;
  if (contains(report.placement, NodeName{word}, &NodeRanks::node)) return NodeName{word};
  return std::nullopt;
}

/// Returns the outcome if the launcher has lost what it had started on another node, which may
/// answer again.
JobOutcome of_lost_daemon(const LostDaemon& daemon, const JobReport& report) {
  const auto node = node_named(daemon.node, report);
  JobOutcome outcome =
      lost(report.launcher_name + " on " + first_node(report) + " has lost contact with " +
               (node ? node->value : daemon.node) + temporary_faults(report) +
               (daemon.why.empty() ? "" : ": " + daemon.why),
           JobEndCause::node_loss);
  if (node) outcome.lost.push_back(*node);
  return outcome;
}

/// Returns the outcome if the launcher could not start its daemons on `nodes`. The text of mpirun
/// lists every cause that there may be; the checks of the cluster find the one that there is.
JobOutcome of_missing_daemons(int code, const std::string& nodes, const std::string& words,
                              const JobReport& report) {
  const std::string faults = temporary_faults(report);
  JobOutcome outcome = failed(
      code,
      report.launcher_name + " on " + first_node(report) + " could not start its daemons on " +
          nodes + (words.empty() ? "" : " (" + words + ")") +
          (faults.empty() ? ": `fastgpu check cluster " + report.cluster + "` looks for the cause"
                          : faults),
      JobEndCause::launcher);
  outcome.explains_launcher = true;
  return outcome;
}

/// Returns the outcome if the launcher names nodes whose part of the job did not begin.
JobOutcome of_failed_starts(int code, std::span<const agent::FailedStart> starts,
                            const JobReport& report) {
  std::string names;
  for (const agent::FailedStart& start : starts)
    append_item(names, printable(start.node));
  return of_missing_daemons(code, names, printable(starts.front().why, 200), report);
}

/// Returns the rank whose failure the launcher names, and whose own report does not have it. A rank
/// whose agent was killed may report a later end, to which it was ordered. A signal that orders one
/// names no cause.
std::optional<NamedRank> rank_without_own_failure(const JobReport& report) {
  auto named = rank_named_by_mpirun(report.launcher_tail, total_ranks(report.placement));
  if (!named || !contains(report.ranks, named->rank, &RankEnd::rank)) return named;
  const int signal = named->how.signal;
  const bool is_order = signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
  if (signal == 0 || is_order) return std::nullopt;
  return named;
}

/// Returns the outcome if the launcher failed, and no rank did so by itself.
JobOutcome of_launcher(const JobEnd& end, const JobReport& report) {
  const std::string where = " on " + first_node(report);
  if (!end.reason.empty())
    return failed(end.how.shell_code(),
                  report.launcher_name + " could not be started" + where + ": " + end.reason,
                  JobEndCause::launcher);
  const int code = end.how.shell_code() == 0 ? 1 : end.how.shell_code();
  if (const auto starts = agent::parse_failed_starts(report.launcher_tail); !starts.empty())
    return of_failed_starts(code, starts, report);
  if (const auto abort = abort_named_by_mpirun(report.launcher_tail, total_ranks(report.placement)))
    return of_abort(*abort, end, report);
  if (const auto rank = unfinalized_rank(report.launcher_tail))
    return of_unfinalized(*rank, code, report);
  // Another process of the agent may report a later end of the same rank.
  if (const auto first = rank_of_ended_agent(report.launcher_tail, total_ranks(report.placement)))
    return of_silent_rank(*first, report);
  if (const auto named = rank_without_own_failure(report)) return of_silent_rank(*named, report);
  const std::string silent = silent_nodes(report);
  if (code == agent::kNoRoom && !silent.empty())
    return of_no_room(report.launcher_name + where, silent);
  if (const auto daemon = node_lost_by_launcher(report.launcher_tail))
    return of_lost_daemon(*daemon, report);
  if (const auto words = words_before_missing_daemons(report.launcher_tail))
    return of_missing_daemons(code, "the other nodes", *words, report);
  return failed(
      code,
      with_words(report.launcher_name + where + " " + describe(end.how) + temporary_faults(report),
                 report.launcher_tail),
      JobEndCause::launcher);
}

/// Returns the outcome if the launcher reports a success, and no rank failed by itself. Ranks that
/// it has ended before they were done are a failure all the same.
JobOutcome of_well_ended_launcher(const JobEnd& end, const JobReport& report) {
  if (std::ranges::none_of(report.ranks, &RankEnd::told)) return {};
  if (const auto abort = abort_named_by_mpirun(report.launcher_tail, total_ranks(report.placement)))
    return of_abort(*abort, end, report);
  std::set<int> ended;
  for (const RankEnd& rank : report.ranks)
    if (rank.told && !rank.how.ok()) ended.insert(rank.rank);
  if (ended.empty()) return {};
  return failed(1,
                report.launcher_name + " on " + first_node(report) + " reports a success, but " +
                    processes_text(report.placement, ended) + " had been ordered to end",
                JobEndCause::launcher);
}

/// Returns the outcome if the supervisor has noticed that the node of a rank does not answer.
JobOutcome of_cut_off(const JobEnd& end, const JobReport& report) {
  const NodeName node = node_of(report.placement, end.cut_off.value_or(-1));
  JobOutcome outcome = lost("lost contact with " + node.value + ": it did not answer " +
                                first_node(report) + ", the first node of the job, for " +
                                to_string(std::chrono::milliseconds(agent::kRankLease)),
                            JobEndCause::node_loss);
  if (end.cut_off) outcome.lost.push_back(node);
  return outcome;
}

std::optional<JobOutcome> of_stop(const JobEnd& end, const JobReport& report) {
  switch (end.cause) {
    case StopCause::none:
      return std::nullopt;
    case StopCause::request:
      return cancelled();
    case StopCause::timeout:
      return failed(kTimedOut, "ran longer than " + to_string(report.timeout),
                    JobEndCause::timeout);
    case StopCause::lease:
      return lost("stopped by its node after " + to_string(report.lease) +
                      " without contact with this machine",
                  JobEndCause::contact);
    case StopCause::vanished:
      return lost("the supervisor on " + first_node(report) +
                      " vanished: it was killed, or the node restarted",
                  JobEndCause::node_loss);
    case StopCause::cut_off:
      return of_cut_off(end, report);
  }
  return std::nullopt;
}

/// Returns true if the launcher had to be ended. It may end of itself, badly, because another node
/// got the order first, which ended its daemon there.
bool was_launcher_ended(const JobReport& report) {
  const auto& end = report.launcher;
  return report.launcher_stayed && !(end && end->cause == StopCause::none && end->how.ok());
}

/// Returns the outcome of the ranks if their launcher had to be ended after them.
JobOutcome of_ranks_without_launcher(const JobReport& report) {
  const std::string why = report.launcher_name + " on " + first_node(report) +
                          " did not end within " + to_string(report.hang_timeout) +
                          " after all ranks, and was ended";
  if (const RankEnd* rank = first_failure(report)) {
    JobOutcome outcome = of_rank(*rank, report);
    outcome.reason += "; " + why;
    return outcome;
  }
  const bool are_well =
      std::ranges::all_of(report.ranks, [](const RankEnd& rank) { return rank.how.ok(); });
  if (!are_well) return failed(1, why, JobEndCause::launcher);
  return {.reason = why};
}

JobOutcome outcome_of(const JobReport& report) {
  if (report.cancelled) return cancelled();
  if (!report.hanging.empty()) return of_hang(report);
  if (!report.lost.empty()) return of_lost_nodes(report);
  if (was_launcher_ended(report)) return of_ranks_without_launcher(report);
  // This comes before the ranks: a rank's reaction to another's end does not count as its failure.
  if (report.launcher)
    if (const auto outcome = of_stop(*report.launcher, report)) return *outcome;
  if (may_be_cancelled(report) && report.launcher->ordered) return cancelled();
  if (const RankEnd* rank = first_failure(report)) return of_rank(*rank, report);
  if (!report.launcher)
    return lost("its end on " + first_node(report) + " is unknown", JobEndCause::node_loss);
  if (!report.launcher->how.ok()) return of_launcher(*report.launcher, report);
  return of_well_ended_launcher(*report.launcher, report);
}

}  // namespace

std::string name_of_launcher(Launcher launcher) {
  return launcher == Launcher::plain ? "the launcher" : "mpirun";
}

bool is_hanging(std::span<const NodeRanks> placement, const std::set<int>& ended,
                const std::set<int>& idle) {
  bool is_any_idle = false;
  for (const NodeRanks& node : placement)
    for (int rank = node.first; rank < node.first + node.count; ++rank) {
      if (ended.contains(rank)) continue;
      if (!idle.contains(rank)) return false;
      is_any_idle = true;
    }
  return is_any_idle;
}

std::int64_t on_our_clock(std::int64_t ended, std::optional<std::int64_t> offset) {
  constexpr std::int64_t kSmall = 1'000'000'000;
  if (!offset || (*offset > -kSmall && *offset < kSmall)) return ended;
  return ended - *offset;
}

std::optional<state::TimePoint> last_end(const JobReport& report) {
  const bool is_whole =
      report.ranks.size() == static_cast<std::size_t>(total_ranks(report.placement));
  // The node of a supervisor that vanished reports the present time.
  const bool is_known = report.launcher && report.launcher->cause != StopCause::vanished;
  if (!is_whole && !is_known) return std::nullopt;
  std::int64_t last = is_whole ? 0 : report.launcher->ended;
  for (const RankEnd& rank : report.ranks)
    last = std::max(last, rank.ended);
  if (last == 0) return std::nullopt;
  return state::TimePoint(
      std::chrono::duration_cast<state::TimePoint::duration>(std::chrono::nanoseconds(last)));
}

bool may_be_cancelled(const JobReport& report) {
  return report.launcher && report.launcher->cause == StopCause::none &&
         !report.launcher->how.ok() && began_with_an_order(report);
}

JobOutcome decide(const JobReport& report) {
  JobOutcome outcome = outcome_of(report);
  outcome.full_disks = report.full_disks;
  std::ranges::copy_if(report.unanswered, std::back_inserter(outcome.unanswered),
                       [&](const LostNode& node) { return contains(outcome.lost, node.node); });
  outcome.ended = last_end(report);
  return outcome;
}

}  // namespace fastgpu::launcher
