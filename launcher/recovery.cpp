#include "launcher/recovery.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "state/words.hpp"

namespace fastgpu::launcher {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstWait{1'000};
constexpr milliseconds kLongestWait{60'000};

/// The causes that a job can be started again after.
constexpr JobEndCause kRetried[] = {JobEndCause::node_loss, JobEndCause::preempted,
                                    JobEndCause::hang, JobEndCause::failure};

JobEndCause parse_retry_cause(std::string_view word) {
  const std::vector<std::string> known = retry_cause_words();
  if (std::ranges::find(known, word) != known.end()) return state::parse_end_cause(word);
  const std::string near = nearest_name(word, known);
  throw Error(ErrorKind::usage, "--on: '" + printable(word) + "' is not a cause of a restart" +
                                    (near.empty() ? "" : ", did you mean " + near + "?") + " (" +
                                    joined(known) + ")");
}

void leave_out(std::vector<NodeSlots>& nodes, const std::vector<NodeName>& lost) {
  std::erase_if(nodes, [&](const NodeSlots& node) { return contains(lost, node.name); });
}

}  // namespace

std::vector<JobEndCause> usual_retry_causes() {
  return {JobEndCause::node_loss, JobEndCause::preempted, JobEndCause::hang};
}

std::vector<std::string> retry_cause_words() {
  std::vector<std::string> words;
  for (const JobEndCause cause : kRetried)
    words.emplace_back(state::to_string(cause));
  return words;
}

std::vector<JobEndCause> parse_retry_causes(std::string_view list) {
  std::vector<JobEndCause> causes;
  for (;;) {
    const auto comma = list.find(',');
    const JobEndCause cause = parse_retry_cause(list.substr(0, comma));
    if (std::ranges::find(causes, cause) == causes.end()) causes.push_back(cause);
    if (comma == std::string_view::npos) return causes;
    list.remove_prefix(comma + 1);
  }
}

std::optional<milliseconds> wait_before_restart(const JobSpec& spec, JobEndCause cause,
                                                int restarts) {
  if (restarts >= spec.retries) return std::nullopt;
  if (std::ranges::find(spec.retry_on, cause) == spec.retry_on.end()) return std::nullopt;
  milliseconds wait = kFirstWait;
  for (int i = 0; i < restarts && wait < kLongestWait; ++i)
    wait *= 2;
  return std::min(wait, kLongestWait);
}

std::string reason_against_restart(const JobSpec& spec, JobEndCause cause, int restarts) {
  const bool is_left_out = contains(usual_retry_causes(), cause) && !contains(spec.retry_on, cause);
  if (restarts >= spec.retries || !is_left_out) return {};
  return "; the job is not started again, because --on (retry_on) lacks " +
         std::string(state::to_string(cause));
}

std::string undone_without_owner(const JobSpec& spec, const JobOutcome& outcome, int restarts) {
  std::string undone;
  if (wait_before_restart(spec, outcome.cause, restarts)) undone = "it is not started again";
  std::string flags;
  for (const std::string& flag : spec.at_end)
    if (flag != kPostMortemFlag || outcome.state != state::JobState::succeeded)
      append_item(flags, flag);
  if (!flags.empty()) append_item(undone, "nothing is done for " + flags, ", and ");
  return undone.empty() ? "" : undone + ": the fastgpu that was to do this has ended";
}

JobEndCause with_notice(JobEndCause cause, bool is_taken_back) {
  const bool may_follow = cause == JobEndCause::node_loss || cause == JobEndCause::failure ||
                          cause == JobEndCause::launcher;
  return is_taken_back && may_follow ? JobEndCause::preempted : cause;
}

bool fits_without(std::vector<NodeSlots> nodes, const std::vector<NodeName>& lost,
                  const JobSpec& spec) {
  leave_out(nodes, lost);
  try {
    place(nodes, spec);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<NodeSlots> nodes_for_restart(std::vector<NodeSlots> nodes,
                                         const std::vector<NodeName>& lost, const JobSpec& spec) {
  if (fits_without(nodes, lost, spec)) leave_out(nodes, lost);
  return nodes;
}

}  // namespace fastgpu::launcher
