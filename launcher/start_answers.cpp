#include "launcher/start_answers.hpp"

#include <algorithm>

#include "agent/protocol/exit_codes.hpp"
#include "base/error.hpp"

namespace fastgpu::launcher {
namespace {

bool has_ended_with(const NodeAnswer& answer, int code) {
  return answer.result.ok() && answer.result.value().code() == code;
}

}  // namespace

std::optional<JobOutcome> never_begun(std::span<const NodeAnswer> answers) {
  for (const NodeAnswer& answer : answers) {
    if (!answer.result.ok()) continue;
    const int code = answer.result.value().code();
    if (code != agent::kNotAllowed && code != agent::kNotThere) continue;
    return JobOutcome{
        .state = state::JobState::failed,
        .exit_code = code,
        .reason = answer.result.host.value + ": " + answer.err.substr(0, answer.err.find('\n'))};
  }
  return std::nullopt;
}

std::optional<NodeName> node_with_same_id(std::span<const NodeAnswer> answers) {
  for (const NodeAnswer& answer : answers)
    if (has_ended_with(answer, agent::kIdTaken)) return answer.result.host;
  return std::nullopt;
}

bool share_home(std::span<const NodeAnswer> answers) {
  return std::ranges::any_of(
      answers, [](const NodeAnswer& answer) { return has_ended_with(answer, agent::kHomeShared); });
}

bool is_silent(const NodeAnswer& answer) {
  return !answer.result.ok() && answer.result.error().kind() == ErrorKind::transient;
}

std::vector<NodeName> silent_nodes(std::span<const NodeAnswer> answers) {
  std::vector<NodeName> silent;
  for (const NodeAnswer& answer : answers)
    if (is_silent(answer)) silent.push_back(answer.result.host);
  return silent;
}

std::vector<NodeName> prepared_nodes(std::span<const NodeAnswer> answers) {
  std::vector<NodeName> prepared;
  for (const NodeAnswer& answer : answers)
    if (has_ended_with(answer, 0)) prepared.push_back(answer.result.host);
  return prepared;
}

std::vector<agent::JobNodeFacts> facts_in(std::span<const NodeAnswer> answers) {
  std::vector<agent::JobNodeFacts> facts;
  for (const NodeAnswer& answer : answers)
    facts.push_back(agent::parse_node_facts(answer.out));
  return facts;
}

}  // namespace fastgpu::launcher
