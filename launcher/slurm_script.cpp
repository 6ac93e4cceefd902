#include "launcher/slurm_script.hpp"

#include <algorithm>
#include <string_view>

#include "base/join.hpp"
#include "base/names.hpp"
#include "base/quote.hpp"
#include "base/split.hpp"
#include "launcher/job.hpp"

namespace fastgpu::launcher {
namespace {

constexpr const char* kSlurmScript =
#include "templates/nodes/slurm.inc"
    ;

constexpr std::size_t kLongestReason = 300;  ///< The limit of one line.
constexpr std::size_t kLongestWarning = 2'000;
/// A busy controller may need ten seconds for each of a few questions.
constexpr std::chrono::milliseconds kSlurmWaitTimeout{90'000};

/// The time in which an answer of the script arrives, of that for a whole question.
constexpr std::chrono::milliseconds kForAnswer{5'000};

/// The exit codes of the script.
constexpr int kNotSubmitted = 3;
constexpr int kNoController = 4;
constexpr int kUnknownJob = 5;
constexpr int kStillRuns = 6;
constexpr int kNoSlurm = 7;
constexpr int kUnprepared = 8;

/// Returns true if a program of Slurm has found no configuration: the packages alone are there.
bool lacks_configuration(std::string_view said) {
  constexpr std::string_view kComplaints[] = {"Could not establish a configuration source",
                                              "Unable to process configuration file",
                                              "unable to status file /etc/slurm"};
  return std::ranges::any_of(
      kComplaints, [&](std::string_view complaint) { return said.find(complaint) != said.npos; });
}

/// Returns the error of a head without Slurm; absent for any other answer.
std::optional<Error> failure_without_slurm(const std::string& head, int code,
                                           std::string_view said) {
  const bool is_unconfigured = code != 0 && lacks_configuration(said);
  if (code != kNoSlurm && !is_unconfigured) return std::nullopt;
  // A job that Slurm has taken may be asked about while its configuration is written anew.
  const ErrorKind kind = code == kNoController ? ErrorKind::transient : ErrorKind::remote;
  const std::string why =
      is_unconfigured ? "its programs are there, but no slurm.conf" : "sbatch is missing";
  return Error(kind, "the head node " + head + " has no Slurm (" + why +
                         "): `fastgpu start cluster` repeats the set-up of a cluster with "
                         "`scheduler: slurm`, and `fastgpu create cluster --scheduler slurm` sets "
                         "it up in any other; or install and configure the client of your Slurm "
                         "there");
}

/// Returns the error of a controller that a program of Slurm cannot reach; absent if its words name
/// something else.
std::optional<Error> failure_of_controller(const std::string& head, std::string_view said) {
  constexpr std::string_view kComplaints[] = {"Unable to contact slurm controller",
                                              "Slurm backup controller in standby mode",
                                              "Socket timed out on send/recv operation"};
  const bool is_silent = std::ranges::any_of(
      kComplaints, [&](std::string_view complaint) { return said.find(complaint) != said.npos; });
  if (!is_silent) return std::nullopt;
  return Error(ErrorKind::transient, "Slurm's controller does not answer on " + head + ": " +
                                         words_of_slurm(std::string(said)));
}

/// A phrase of Slurm's reasons against a job, and what it means for the user.
struct RefusalRow {
  std::string_view phrase;
  ErrorKind kind;
};

/// The reasons in the words of sbatch. A reason that is not here is remote.
constexpr RefusalRow kRefusals[] = {
    {"More processors requested than permitted", ErrorKind::usage},
    {"Requested node configuration is not available", ErrorKind::usage},
    {"Requested time limit is invalid", ErrorKind::usage},
    {"Node count specification invalid", ErrorKind::usage},
    {"CPU count specification invalid", ErrorKind::usage},
    {"Memory required by task is not available", ErrorKind::usage},
    {"Invalid generic resource", ErrorKind::usage},
    {"Requested nodes not in this partition", ErrorKind::usage},
    {"Time limit specification required, but not provided", ErrorKind::usage},
    {"Invalid license specification", ErrorKind::usage},
    {"Invalid feature specification", ErrorKind::usage},
    {"Invalid Trackable RESource", ErrorKind::usage},
    {"Invalid partition name", ErrorKind::not_found},
    {"invalid partition specified", ErrorKind::not_found},
    {"Invalid qos specification", ErrorKind::not_found},
    {"Requested reservation is invalid", ErrorKind::not_found},
    {"Invalid node name specified", ErrorKind::not_found},
    {"Invalid account or account/partition combination", ErrorKind::denied},
    {"not permitted to use this partition", ErrorKind::denied},
    {"Access denied to requested reservation", ErrorKind::denied},
    {"Access/permission denied", ErrorKind::denied},
    {"Job violates accounting/QOS policy", ErrorKind::capacity},
    {"Requested account has breached requested QOS usage threshold", ErrorKind::capacity},
    {"Requested reservation not usable now", ErrorKind::capacity},
    {"Required partition not available", ErrorKind::capacity},
};

/// Returns true for the line in which sbatch answers. The lines beside it are those of a site, such
/// as a greeting of its filter for jobs, or say more about the answer.
bool is_answer_line(std::string_view line) {
  constexpr std::string_view kMarks[] = {
      "submission failed: ", "allocation failure: ", " to start at "};
  return std::ranges::any_of(kMarks,
                             [&](std::string_view mark) { return line.find(mark) != line.npos; });
}

/// The lines that a program of Slurm has written, printable.
struct SlurmWords {
  std::string answer{};  ///< The last line of an answer; empty without any line.
  std::string others{};
};

SlurmWords words_in(std::string_view text) {
  SlurmWords words;
  for (std::string_view line : split(text, '\n')) {
    while (line.ends_with('\r') || line.ends_with(' '))
      line.remove_suffix(1);
    if (line.empty()) continue;
    std::string shown = printable(line, kLongestReason);
    if (is_answer_line(line)) std::swap(words.answer, shown);
    if (!shown.empty()) append_item(words.others, shown, "; ");
  }
  words.others.resize(std::min(words.others.size(), kLongestWarning));
  return words;
}

/// Returns the kind of a refusal: remote for one with another reason.
ErrorKind kind_of_refusal(std::string_view said) {
  const SlurmWords words = words_in(said);
  for (const std::string& text : {words.answer, words.others})
    for (const RefusalRow& row : kRefusals)
      if (text.find(row.phrase) != text.npos) return row.kind;
  return ErrorKind::remote;
}

std::int64_t wall_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void note_end(ssh::Client& client, const ssh::Host& head, const std::string& id,
              const agent::JobEnd& end, const Cancel& cancel) {
  const NodeAnswer answer =
      ask(client, {slurm_task(head, {"end", job_directory(id)}, to_text(end))}, kSlurmAnswerTimeout,
          cancel)
          .front();
  if (const auto error = failure_of_call(answer)) throw Error(*error);
}

}  // namespace

NodeTask slurm_task(const ssh::Host& head, std::vector<std::string> words,
                    const std::string& input) {
  std::vector<std::string> argv = {"/bin/sh", "-c", kSlurmScript, "sh"};
  argv.insert(argv.end(), words.begin(), words.end());
  return {.host = head, .command = shell_join(argv), .input = input};
}

std::string words_of_slurm(const std::string& text) {
  const SlurmWords words = words_in(text);
  if (words.answer.empty() || words.others.empty()) return words.answer + words.others;
  return words.answer + " (it also printed: " + words.others + ")";
}

std::string warning_of_slurm(const NodeAnswer& submission) {
  const std::string warning = words_in(submission.err).others;
  if (warning.empty()) return {};
  return "Slurm on " + submission.result.host.value + ": " + warning;
}

std::optional<Error> failure_of_call(const NodeAnswer& answer) {
  const std::string& head = answer.result.host.value;
  if (!answer.result.ok()) return answer.result.error().during("asking Slurm on " + head);
  const int code = answer.result.value().code();
  if (const auto error = failure_without_slurm(head, code, answer.err)) return error;
  const std::string why = words_of_slurm(answer.err);
  switch (code) {
    case 0:
      return std::nullopt;
    case kNotSubmitted:
      return Error(ErrorKind::conflict, "the job was stopped before it was submitted to Slurm");
    case kNoController:
      return Error(ErrorKind::transient,
                   "Slurm's controller does not answer on " + head + ": " + why);
    case kStillRuns:
      return Error(ErrorKind::timeout, "Slurm on " + head + " has not ended the job yet");
    default:
      if (auto silent = failure_of_controller(head, answer.err)) return silent;
      return Error(kind_of_refusal(answer.err),
                   "Slurm on " + head + ": " + (why.empty() ? "the command failed" : why));
  }
}

bool is_unprepared(const NodeAnswer& submission) {
  return submission.result.ok() && submission.result.value().code() == kUnprepared;
}

bool is_unclear(const NodeAnswer& submission) {
  return !submission.result.ok() || submission.result.value().code() == kNoController;
}

std::optional<Error> failure_of_trial(const NodeAnswer& answer) {
  const std::string& head = answer.result.host.value;
  const int code = answer.result.ok() ? answer.result.value().code() : 0;
  if (code == 0) return failure_of_call(answer);
  if (const auto error = failure_without_slurm(head, code, answer.out)) return error;
  if (auto silent = failure_of_controller(head, answer.out)) return silent;
  return Error(kind_of_refusal(answer.out),
               "Slurm on " + head + " refuses the job: " + words_of_slurm(answer.out));
}

std::optional<SlurmJob> slurm_job_in(const NodeAnswer& answer) {
  const int code = answer.result.ok() ? answer.result.value().code() : 0;
  if (code == kNotSubmitted) return std::nullopt;
  if (code == kUnknownJob) return forgotten_slurm_job();
  if (const auto error = failure_of_call(answer)) throw Error(*error);
  SlurmJob job = parse_slurm_job(answer.out);
  job.answered = std::chrono::system_clock::now();
  return job;
}

std::optional<SlurmJob> ask_slurm(ssh::Client& client, const ssh::Host& head, const std::string& id,
                                  std::chrono::milliseconds timeout, const Cancel& cancel) {
  // The script names a controller that does not answer, unless its own time is over before.
  const auto limit = std::chrono::floor<std::chrono::seconds>(timeout - kForAnswer).count();
  const NodeTask task = slurm_task(head, {"state", job_directory(id), std::to_string(limit)});
  return slurm_job_in(ask(client, {task}, timeout, cancel, timeout).front());
}

NodeAnswer await_slurm(ssh::Client& client, const ssh::Host& head, const std::string& id,
                       const SlurmLooks& looks, const Cancel& cancel) {
  const NodeTask task = slurm_task(head, {"await", job_directory(id), looks.count, looks.seconds});
  return ask(client, {task}, kSlurmWaitTimeout, cancel, kSlurmWaitTimeout).front();
}

bool still_runs(const NodeAnswer& answer) {
  return answer.result.ok() && answer.result.value().code() == kStillRuns;
}

std::string nodes_that_slurm_cleans(const NodeAnswer& cancellation) {
  return printable(trimmed(cancellation.out, " \n"), kLongestReason);
}

void note_slurm_end(ssh::Client& client, const ssh::Host& head, const std::string& id,
                    const SlurmJob& ended, const Cancel& cancel) {
  note_end(client, head, id, slurm_job_end(ended, wall_clock_ns()), cancel);
}

void note_slurm_cancel(ssh::Client& client, const ssh::Host& head, const std::string& id,
                       const Cancel& cancel) {
  const agent::JobEnd end{.how = {.code = 0, .signal = 15},
                          .ended = wall_clock_ns(),
                          .cause = agent::StopCause::request,
                          .host = head.name.value,
                          .reason = {}};
  note_end(client, head, id, end, cancel);
}

}  // namespace fastgpu::launcher
