#include "launcher/fan_out.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/protocol/exit_codes.hpp"
#include "remote/agent_call.hpp"

namespace fastgpu::launcher {
namespace {

constexpr int kWidth = 64;

void keep(std::string& text, std::string_view bytes, std::size_t most) {
  text += bytes.substr(0, most - std::min(most, text.size()));
}

std::string without_last_newlines(std::string text) {
  while (text.ends_with('\n'))
    text.pop_back();
  return text;
}

std::vector<NodeAnswer> no_answers(const std::vector<NodeTask>& tasks) {
  std::vector<NodeAnswer> answers;
  for (const NodeTask& task : tasks)
    answers.push_back({.result = {task.host.name, ssh::Exit{}}});
  return answers;
}

/// Returns the task, which writes to `answer` while it runs.
ssh::Task task_for(const NodeTask& wanted, NodeAnswer& answer) {
  answer.out.clear();
  answer.err.clear();
  ssh::Task task{.host = wanted.host, .command = wanted.command};
  const std::size_t most = wanted.most_output;
  task.on_stdout = [&answer, most](std::string_view bytes) { keep(answer.out, bytes, most); };
  task.on_stderr = [&answer, most](std::string_view bytes) { keep(answer.err, bytes, most); };
  if (!wanted.input.empty())
    task.next_input = [input = std::optional(wanted.input)]() mutable {
      return std::exchange(input, std::nullopt);
    };
  return task;
}

ssh::RunOptions options_for(std::chrono::milliseconds timeout) {
  ssh::RunOptions options;
  options.width = kWidth;
  options.timeout = timeout;
  options.keeps_connections = true;
  return options;
}

}  // namespace

std::vector<NodeAnswer> ask(ssh::Client& client, const std::vector<NodeTask>& tasks,
                            std::chrono::milliseconds timeout, const Cancel& cancel,
                            std::optional<std::chrono::milliseconds> connect_timeout) {
  auto answers = no_answers(tasks);
  std::vector<ssh::Task> running;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    running.push_back(task_for(tasks[i], answers[i]));
  ssh::RunOptions options = options_for(timeout);
  options.connect_timeout = connect_timeout;
  const auto results = client.run(std::move(running), options, cancel);
  for (std::size_t i = 0; i < results.size(); ++i)
    answers[i].result = results[i];
  return answers;
}

std::vector<NodeAnswer> ask_agent(ssh::Client& client, const std::vector<NodeTask>& tasks,
                                  const remote::AgentProgram& agent,
                                  std::chrono::milliseconds timeout, const Cancel& cancel,
                                  std::optional<std::chrono::milliseconds> connect_timeout) {
  auto answers = no_answers(tasks);
  std::vector<ssh::Host> hosts;
  for (const NodeTask& task : tasks)
    hosts.push_back(task.host);
  const auto make_task = [&](std::size_t i) { return task_for(tasks[i], answers[i]); };
  ssh::RunOptions options = options_for(timeout);
  options.connect_timeout = connect_timeout;
  const auto results = remote::call_agent(client, hosts, agent, make_task, options, cancel);
  for (std::size_t i = 0; i < results.size(); ++i)
    answers[i].result.outcome = results[i].exit;
  return answers;
}

HostResult<ssh::Exit> confirmation(NodeAnswer answer) {
  HostResult<ssh::Exit>& result = answer.result;
  if (!result.ok() || result.value().code() == 0) return std::move(result);
  const int code = result.value().code();
  const std::string said = answer.err.substr(0, answer.err.find('\n'));
  const std::string why = said.empty() ? "the command ended with " + std::to_string(code) : said;
  // The agent itself begins some of its complaints with the host.
  const std::string prefix = result.host.value + ": ";
  result.outcome = Error(agent::kind_of_exit(code), why.starts_with(prefix) ? why : prefix + why);
  return std::move(result);
}

void check(const std::vector<NodeAnswer>& answers, const std::string& doing) {
  for (const NodeAnswer& answer : answers) {
    const std::string& host = answer.result.host.value;
    if (!answer.result.ok()) throw answer.result.error().during(doing + " on " + host);
    const int code = answer.result.value().code();
    if (code == 0) continue;
    const std::string said = without_last_newlines(answer.err);
    throw Error(agent::kind_of_exit(code),
                doing + " on " + host + ": " +
                    (said.empty() ? "the agent ended with " + std::to_string(code) : said));
  }
}

}  // namespace fastgpu::launcher
