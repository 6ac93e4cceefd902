#include "launcher/engines/slurm.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "agent/protocol/plan.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/split.hpp"
#include "base/units.hpp"
#include "launcher/engines/mpirun_words.hpp"
#include "launcher/engines/slurm_times.hpp"
#include "launcher/engines/slurm_words.hpp"
#include "launcher/job_times.hpp"
#include "launcher/placement.hpp"

namespace fastgpu::launcher {
namespace {

constexpr std::string_view kForgotten = "FORGOTTEN";
constexpr std::string_view kRequeued = "REQUEUED";
/// Begins the line with the end of the batch script, beside the line of scontrol.
constexpr std::string_view kBatchMark = "batch ";
/// The line about a job that a fastgpu cancels.
constexpr std::string_view kStoppedMark = "stopped";

/// Slurm's exit code of a batch script whose output file could not be opened.
constexpr int kNoOutputFile = 53;

struct StateWord {
  std::string_view word;
  SlurmPhase phase;
};

/// The job states of Slurm 20.11 to 24.05.
constexpr std::array kStateWords = {
    StateWord{"PENDING", SlurmPhase::waiting},      StateWord{"CONFIGURING", SlurmPhase::waiting},
    StateWord{"REQUEUED", SlurmPhase::waiting},     StateWord{"REQUEUE_FED", SlurmPhase::waiting},
    StateWord{"REQUEUE_HOLD", SlurmPhase::waiting}, StateWord{"RESV_DEL_HOLD", SlurmPhase::waiting},
    StateWord{"SPECIAL_EXIT", SlurmPhase::waiting}, StateWord{"RUNNING", SlurmPhase::running},
    StateWord{"COMPLETING", SlurmPhase::running},   StateWord{"RESIZING", SlurmPhase::running},
    StateWord{"SIGNALING", SlurmPhase::running},    StateWord{"STAGE_OUT", SlurmPhase::running},
    StateWord{"STOPPED", SlurmPhase::running},      StateWord{"SUSPENDED", SlurmPhase::running},
    StateWord{"COMPLETED", SlurmPhase::ended},      StateWord{"CANCELLED", SlurmPhase::ended},
    StateWord{"FAILED", SlurmPhase::ended},         StateWord{"TIMEOUT", SlurmPhase::ended},
    StateWord{"DEADLINE", SlurmPhase::ended},       StateWord{"NODE_FAIL", SlurmPhase::ended},
    StateWord{"BOOT_FAIL", SlurmPhase::ended},      StateWord{"LAUNCH_FAILED", SlurmPhase::ended},
    StateWord{"PREEMPTED", SlurmPhase::ended},      StateWord{"OUT_OF_MEMORY", SlurmPhase::ended},
    StateWord{"REVOKED", SlurmPhase::ended},        StateWord{"RECONFIG_FAIL", SlurmPhase::ended},
};

[[noreturn]] void refuse_answer(std::string_view text) {
  constexpr std::size_t kShown = 200;
  throw Error(ErrorKind::remote,
              "Slurm answers what is not understood: '" + printable(text, kShown) + "'");
}

SlurmPhase phase_of(std::string_view state) {
  const auto found = std::ranges::find(kStateWords, state, &StateWord::word);
  if (found == kStateWords.end())
    throw Error(ErrorKind::remote, "Slurm reports the unknown state '" + printable(state) + "'");
  return found->phase;
}

int parse_code(std::string_view text) {
  constexpr int kMostCode = 255;
  int value = -1;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size() || value < 0 ||
      value > kMostCode)
    refuse_answer(text);
  return value;
}

/// Parses "CODE:SIGNAL".
process::ExitStatus parse_exit(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == text.npos) refuse_answer(text);
  return {.code = parse_code(text.substr(0, colon)), .signal = parse_code(text.substr(colon + 1))};
}

/// Returns the value of the first "KEY=VALUE" among words that are separated by spaces. The value
/// ends at the next space.
std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
  for (std::size_t at = 0; at < line.size();) {
    const auto end = std::min(line.find(' ', at), line.size());
    const std::string_view word = line.substr(at, end - at);
    if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=')
      return word.substr(key.size() + 1);
    at = end + 1;
  }
  return std::nullopt;
}

/// Returns a value of Slurm; empty for its words for nothing.
std::string known(std::string_view value) {
  for (const char* none : {"(null)", "None", "N/A", "None assigned", "Unknown"})
    if (value == none) return "";
  return std::string(value);
}

/// Returns true once Slurm has put a job back into its queue, or has started it again. The ranks of
/// its first run are still being ended before that.
bool is_requeued(std::string_view line, std::string_view state) {
  const std::string_view restarts = value_of(line, "Restarts").value_or("0");
  return restarts != "0" && state != "COMPLETING";
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

/// Returns the state that a job gets once Slurm has cleaned up after it.
std::string state_after_completing(const SlurmJob& job) {
  if (job.reason == "TimeLimit") return "TIMEOUT";
  if (job.reason == "NodeDown") return "NODE_FAIL";
  if (job.reason == "OutOfMemory") return "OUT_OF_MEMORY";
  if (job.reason.empty() && job.batch.signal != 0) return "CANCELLED";
  return job.batch.ok() ? "COMPLETED" : "FAILED";
}

/// Takes the end of the batch script from the line that it wrote: "CODE NODES".
void add_batch_end(SlurmJob& job, std::string_view line) {
  const auto blank = std::min(line.find(' '), line.size());
  const int code = parse_code(line.substr(0, blank));
  if (job.batch.ok() && job.reason != "TimeLimit") job.batch.code = code;
  const std::string_view nodes = line.substr(std::min(blank + 1, line.size()));
  if (!nodes.empty()) job.nodes = nodes;
}

/// Returns true if Slurm's reason for an end is that of the batch script itself.
bool is_reason_of_script(std::string_view reason) {
  return reason == "NonZeroExitCode" || reason == "JobLaunchFailure" ||
         reason.starts_with("RaisedSignal");
}

/// Ends a job that Slurm is ending if its batch script has ended by itself: its ranks have ended
/// before, as far as the script could reach them.
void settle_completing(SlurmJob& job, std::string_view batch_end) {
  if (job.state != "COMPLETING") return;
  job.cleaning = job.nodes;
  if (batch_end.empty() && !is_reason_of_script(job.reason)) return;
  if (!batch_end.empty()) add_batch_end(job, batch_end);
  job.state = state_after_completing(job);
  job.phase = SlurmPhase::ended;
}

/// Adds the times of a job that has begun, or has ended. Those of other jobs are plans.
void add_times(SlurmJob& job, std::string_view began, std::string_view ended,
               std::string_view answer) {
  if (job.phase == SlurmPhase::waiting || job.state == kRequeued) return;
  job.begun_for = age_of(began, answer);
  if (job.phase == SlurmPhase::ended) job.ended_for = age_of(ended, answer);
}

SlurmJob parse_scontrol(std::string_view text) {
  const std::string_view line = first_line(text);
  const auto state = value_of(line, "JobState");
  const auto exit = value_of(line, "ExitCode");
  const auto id = value_of(line, "JobId");
  if (!id || !state || !exit) refuse_answer(line);
  SlurmJob job{.state = std::string(*state), .phase = phase_of(*state)};
  job.reason = known(value_of(line, "Reason").value_or(""));
  job.nodes = known(value_of(line, "NodeList").value_or(""));
  job.batch = parse_exit(*exit);
  job.id = *id;
  job.batch_host = known(value_of(line, "BatchHost").value_or(""));
  std::string_view batch_end;
  for (std::string_view more : split_lines(text.substr(line.size())))
    if (more.starts_with(kBatchMark)) batch_end = more.substr(kBatchMark.size());
  settle_completing(job, batch_end);
  if (job.state == "CANCELLED")
    job.fault = fault_of_nodes(text.substr(line.size()), value_of(line, "StartTime").value_or(""));
  if (is_requeued(line, *state)) {
    job.state = kRequeued;
    job.phase = SlurmPhase::ended;
  }
  add_times(job, value_of(line, "StartTime").value_or(""), value_of(line, "EndTime").value_or(""),
            text);
  return job;
}

/// Parses "ID|STATE|CODE:SIGNAL|NODES|BEGIN|END". A state may have more words: "CANCELLED by 1000".
SlurmJob parse_sacct(std::string_view text) {
  const std::string_view line = first_line(text);
  std::array<std::string_view, 6> fields;
  std::size_t count = 0;
  for (std::size_t at = 0; at <= line.size(); ++count) {
    if (count == fields.size()) refuse_answer(line);
    const auto end = std::min(line.find('|', at), line.size());
    fields[count] = line.substr(at, end - at);
    at = end + 1;
  }
  if (count != fields.size()) refuse_answer(line);
  const std::string_view state = fields[1].substr(0, fields[1].find(' '));
  SlurmJob job{.state = std::string(state),
               .phase = phase_of(state),
               .batch = parse_exit(fields[2]),
               .nodes = known(fields[3]),
               .id = std::string(fields[0])};
  add_times(job, fields[4], fields[5], text);
  return job;
}

/// Parses "CODE NODES", which the batch script wrote as its last step.
SlurmJob parse_batch_end(std::string_view text) {
  const std::string_view line = first_line(text);
  const auto blank = std::min(line.find(' '), line.size());
  const int code = parse_code(line.substr(0, blank));
  SlurmJob job{.state = code == 0 ? "COMPLETED" : "FAILED",
               .phase = SlurmPhase::ended,
               .batch = {.code = code},
               .nodes = std::string(line.substr(std::min(blank + 1, line.size())))};
  job.ended_for = age_of_script_end(text);
  return job;
}

/// Returns true for a job that Slurm or the timer of its batch script has ended.
bool is_timeout(const SlurmJob& job) {
  const bool is_by_timer = job.batch.code == 0 && job.batch.signal == SIGXCPU;
  return is_by_timer || job.state == "TIMEOUT" || job.state == "DEADLINE";
}

/// Returns ": `sinfo -R` on login shows ...", with the node that submits jobs.
std::string see_nodes(const JobReport& report) {
  if (report.placement.empty()) return "";
  return ": `sinfo -R` on " + report.placement.front().node.value +
         " shows which nodes Slurm does not use, and why";
}

/// Returns ": `scontrol show node n2` on login shows its state".
std::string see_node(const SlurmFault& fault, const JobReport& report) {
  if (report.placement.empty()) return "";
  return ": `scontrol show node " + fault.node + "` on " + report.placement.front().node.value +
         " shows its state";
}

/// Returns the failure of a node that has ended the job, which Slurm's state does not name. Slurm
/// says of a job that a failed prolog has ended, as of others, that it was cancelled.
std::optional<SlurmFault> fault_of(const JobReport& report, const SlurmJob& job) {
  if (job.state == "COMPLETED" || is_timeout(job)) return std::nullopt;
  auto fault = fault_named_by_slurm(report.launcher_tail);
  const bool has_begun = !report.ranks.empty();
  if (!fault && !has_begun) fault = job.fault;
  if (fault && job.state == "CANCELLED" && fault->kind != SlurmFaultKind::prolog) fault.reset();
  if (fault && fault->node.empty()) fault->node = job.batch_host;
  if (fault && fault->node.empty()) fault->node = job.nodes;
  return fault;
}

JobOutcome outcome_of_fault(const SlurmFault& fault, const JobReport& report) {
  using state::JobState;
  JobOutcome lost{.state = JobState::lost, .exit_code = 1, .cause = JobEndCause::node_loss};
  switch (fault.kind) {
    case SlurmFaultKind::prolog:
      lost.reason = "Slurm's prolog failed on " + fault.node + see_nodes(report);
      return lost;
    case SlurmFaultKind::task_prolog:
      return {.state = JobState::failed,
              .exit_code = 1,
              .reason = "Slurm's TaskProlog failed on " + fault.node +
                        (fault.why.empty() ? "" : ": " + fault.why),
              .cause = JobEndCause::launcher};
    case SlurmFaultKind::launch:
      lost.reason = "Slurm could not start the ranks on " + fault.node +
                    (fault.why.empty() ? "" : " (" + fault.why + ")") + see_node(fault, report);
      return lost;
    case SlurmFaultKind::node:
      lost.reason = "Slurm ended it: NODE_FAIL (" + fault.node + ")" + see_nodes(report);
      return lost;
  }
  return lost;
}

/// Returns the outcome of a job that its user or Slurm has ended.
std::optional<JobOutcome> outcome_of_end(const JobReport& report, const SlurmJob& job) {
  using state::JobState;
  if (!report.cancelled)
    if (const auto fault = fault_of(report, job)) return outcome_of_fault(*fault, report);
  if (report.cancelled || job.state == "CANCELLED")
    return JobOutcome{.state = JobState::cancelled,
                      .exit_code = 130,
                      .reason = report.cancelled ? "cancelled"
                                : job.is_stopped ? "cancelled by the user"
                                                 : "cancelled in Slurm",
                      .cause = JobEndCause::cancelled};
  if (job.state == kRequeued)
    return JobOutcome{.state = JobState::lost,
                      .exit_code = 1,
                      .reason =
                          "Slurm ended it and put it back into its queue, from which it does not "
                          "start again: run it once more",
                      .cause = JobEndCause::preempted};
  if (is_timeout(job)) {
    const bool is_ours = report.timeout.count() > 0;
    return JobOutcome{.state = JobState::failed,
                      .exit_code = 124,
                      .reason = is_ours ? "ran longer than " + to_string(report.timeout)
                                        : "ran longer than Slurm allows (" + job.state + ")",
                      .cause = JobEndCause::timeout};
  }
  for (const char* lost :
       {"NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED", "PREEMPTED", "REVOKED", "RECONFIG_FAIL"})
    if (job.state == lost)
      return JobOutcome{
          .state = JobState::lost,
          .exit_code = 1,
          .reason = "Slurm ended it: " + job.state +
                    (job.nodes.empty() ? "" : " (" + job.nodes + ")") +
                    (job.state == "NODE_FAIL" ? see_nodes(report) : ""),
          .cause = job.state == "PREEMPTED" ? JobEndCause::preempted : JobEndCause::node_loss};
  return std::nullopt;
}

/// Returns the outcome of a job whose batch script has ended, where no rank names a cause.
JobOutcome outcome_of_script(const JobReport& report, const SlurmJob& job) {
  using state::JobState;
  if (job.state == "OUT_OF_MEMORY")
    return {.state = JobState::failed,
            .exit_code = 137,
            .reason = "Slurm ended it: out of memory (" + job.nodes + ")",
            .cause = JobEndCause::failure};
  if (job.batch.code == 0 && job.batch.signal == kNoOutputFile)
    return {.state = JobState::failed,
            .exit_code = 1,
            .reason = job.nodes +
                      ": the job's directory is missing there: the nodes of Slurm must "
                      "share the home directory of the node that submits",
            .cause = JobEndCause::launcher};
  const int code = job.batch.shell_code() == 0 ? 1 : job.batch.shell_code();
  const std::string gist = gist_of(report.launcher_tail);
  return {
      .state = JobState::failed,
      .exit_code = code,
      .reason = "Slurm's batch script " + describe(job.batch) + (gist.empty() ? "" : ": " + gist),
      .cause = JobEndCause::launcher};
}

/// Returns the end of the last rank; without the ends of all ranks that in Slurm, or in the job's
/// own record, which may have been written later. Absent if none of them is known.
std::optional<state::TimePoint> end_in_slurm(JobReport report, const SlurmJob& job) {
  const auto recorded = last_end(report);
  report.launcher.reset();
  if (const auto by_ranks = last_end(report)) return by_ranks;
  const auto by_slurm = end_of(job);
  return by_slurm ? by_slurm : recorded;
}

JobOutcome outcome_in_slurm(JobReport report, const SlurmJob& job) {
  using state::JobState;
  if (const auto ended = outcome_of_end(report, job)) return *ended;
  const auto wanted = static_cast<std::size_t>(total_ranks(report.placement));
  // The nodes of ranks are known from their own reports alone.
  report.placement.clear();
  for (const agent::RankEnd& end : report.ranks)
    report.placement.push_back({.node = {end.host}, .first = end.rank, .count = 1});
  report.lost.clear();
  report.launcher.reset();
  const JobOutcome of_ranks = decide(report);
  if (of_ranks.first_rank) return of_ranks;
  if (job.state == "COMPLETED") return {};
  if (job.state == kForgotten) {
    if (report.ranks.size() == wanted) return {};
    return {.state = JobState::lost,
            .exit_code = 1,
            .reason =
                "Slurm does not know the job any more, and not all of its ranks have "
                "reported their end",
            .cause = JobEndCause::contact};
  }
  return outcome_of_script(report, job);
}

}  // namespace

std::string checked_slurm_word(const std::string& text, std::string_view more) {
  constexpr std::string_view kMarks = "_-.,:@+=/";
  const auto is_plain = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos || more.find(c) != std::string_view::npos;
  };
  if (text.empty() || text.starts_with('-') || !std::ranges::all_of(text, is_plain))
    throw Error(ErrorKind::usage, "'" + printable(text) +
                                      "' is not a word of letters, digits and " +
                                      std::string(kMarks) + std::string(more));
  return text;
}

int slurm_ranks(const JobSpec& spec) {
  if (spec.ranks) return *spec.ranks;
  if (!spec.slurm.nodes)
    throw Error(ErrorKind::usage,
                "engine slurm: the number of ranks is missing: give -np, or slurm.nodes with "
                "--npernode");
  const int ranks = *spec.slurm.nodes * spec.per_node.value_or(1);
  check_count("ranks (slurm.nodes times --npernode)", ranks);
  return ranks;
}

JobSpec within_slots(JobSpec spec, std::span<const NodeSlots> nodes) {
  if (spec.slurm.nodes || !spec.slurm.nodelist.empty()) return spec;
  int most = 0;
  int all = 0;
  for (const NodeSlots& node : nodes) {
    const int ranks = std::min(node.slots, spec.per_node.value_or(node.slots));
    most = std::max(most, ranks);
    all += ranks;
  }
  if (!spec.ranks) spec.ranks = all;
  if (*spec.ranks > all)
    throw Error(ErrorKind::usage,
                counted(static_cast<std::size_t>(*spec.ranks), "rank") + " do not fit on " +
                    counted(nodes.size(), "node") + ": there are slots for " + std::to_string(all) +
                    (spec.per_node ? " at " + std::to_string(*spec.per_node) + " per node" : "") +
                    " (set slurm.nodes, and --npernode, to run them anyway)");
  spec.per_node = most;
  return spec;
}

std::optional<state::TimePoint> beginning_of(const SlurmJob& job) {
  if (!job.begun_for) return std::nullopt;
  return job.answered - *job.begun_for;
}

std::optional<state::TimePoint> end_of(const SlurmJob& job) {
  if (!job.ended_for) return std::nullopt;
  return job.answered - *job.ended_for;
}

std::string idle_reason(const SlurmJob& job) {
  if (job.state == "SUSPENDED") return "is suspended in Slurm";
  if (job.state == "STOPPED") return "is stopped in Slurm";
  if (job.state == "COMPLETING" && !job.cleaning.empty())
    return "is being ended by Slurm on " + job.cleaning;
  if (job.phase != SlurmPhase::waiting) return {};
  return "waits in Slurm's queue" + (job.reason.empty() ? "" : " (" + job.reason + ")");
}

std::string parse_sbatch(std::string_view text) {
  constexpr std::size_t kLongestId = 20;
  const std::string_view line = first_line(text);
  const std::string_view id = line.substr(0, line.find(';'));
  const bool is_number = std::ranges::all_of(id, [](char c) { return c >= '0' && c <= '9'; });
  if (id.empty() || id.size() > kLongestId || !is_number) refuse_answer(text);
  return std::string(id);
}

SlurmJob parse_slurm_job(std::string_view text) {
  const std::string_view source = first_line(text);
  if (source.size() == text.size()) refuse_answer(text);
  const std::string_view rest = text.substr(source.size() + 1);
  if (source != "scontrol" && source != "sacct" && source != "batch") refuse_answer(text);
  SlurmJob job = source == "scontrol" ? parse_scontrol(rest)
                 : source == "sacct"  ? parse_sacct(rest)
                                      : parse_batch_end(rest);
  job.is_stopped = std::ranges::count(split_lines(text), kStoppedMark) > 0;
  return job;
}

SlurmJob forgotten_slurm_job() {
  return {.state = std::string(kForgotten), .phase = SlurmPhase::ended};
}

std::optional<SlurmJob> job_in_record(const agent::JobEnd& end) {
  if (!end.how.ok() || end.cause != agent::StopCause::none || end.host.empty()) return std::nullopt;
  return SlurmJob{.state = "COMPLETED", .phase = SlurmPhase::ended, .nodes = end.host};
}

agent::JobEnd slurm_job_end(const SlurmJob& job, std::int64_t now_ns) {
  agent::JobEnd end;
  end.how = job.batch;
  const auto ended = end_of(job);
  end.ended = ended ? std::chrono::nanoseconds(ended->time_since_epoch()).count() : now_ns;
  if (job.state == "CANCELLED" && !job.fault) end.cause = agent::StopCause::request;
  if (is_timeout(job)) end.cause = agent::StopCause::timeout;
  if (end.how.ok() && job.state != "COMPLETED" && job.state != kForgotten) end.how.code = 1;
  end.host = job.nodes;
  return end;
}

JobOutcome decide_slurm(JobReport report, const SlurmJob& job) {
  std::vector<state::FullDiskAt> full = report.full_disks;
  const auto began = first_beginning(report.ranks);
  const auto ended = end_in_slurm(report, job);
  JobOutcome outcome = outcome_in_slurm(std::move(report), job);
  outcome.full_disks = std::move(full);
  if (!outcome.reason.empty() && !job.cleaning.empty())
    outcome.reason += "; Slurm is still cleaning up on " + job.cleaning;
  outcome.nodes = job.nodes;
  outcome.began = began ? began : beginning_of(job);
  outcome.ended = ended;
  return outcome;
}

}  // namespace fastgpu::launcher
