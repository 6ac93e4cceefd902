#include "remote/exec.hpp"

#include <memory>
#include <utility>

#include "base/outcome.hpp"
#include "base/quote.hpp"
#include "remote/agent_call.hpp"
#include "remote/lines.hpp"
#include "transfer/input_frames.hpp"

namespace fastgpu::remote {
namespace {

/// Reads $0 bytes from its input, exports the variables in them, and replaces itself by the
/// command.
constexpr const char* kWithVariables =
    R"(fastgpu_variables=$(dd bs=1 count="$0" 2>/dev/null) && [ -n "$fastgpu_variables" ] || exit 126
eval "$fastgpu_variables" && unset fastgpu_variables && exec "$@")";

/// Passes the output of one host to the sink.
class HostOutput {
 public:
  HostOutput(std::size_t host, Delivery delivery, OutputSink& sink)
      : host_(host),
        delivery_(delivery),
        sink_(sink),
        out_([this](std::string_view text) { sink_.output(host_, OutputChannel::out, text); }),
        err_([this](std::string_view text) { sink_.output(host_, OutputChannel::err, text); }) {}

  void add(OutputChannel channel, std::string_view piece) {
    if (delivery_ == Delivery::pieces) {
      sink_.output(host_, channel, piece);
    } else {
      (channel == OutputChannel::out ? out_ : err_).add(piece);
    }
  }

  void finish() {
    out_.finish();
    err_.finish();
    sink_.ended(host_);
  }

 private:
  std::size_t host_;
  Delivery delivery_;
  OutputSink& sink_;
  LineCutter out_;
  LineCutter err_;
};

class Execution {
 public:
  Execution(ssh::Client& client, std::span<const ssh::Host> hosts,
            const std::vector<std::string>& argv, const AgentProgram& agent,
            const ExecOptions& options, OutputSink& sink, const Cancel& cancel)
      : client_(client),
        hosts_(hosts),
        argv_(argv),
        agent_(agent),
        options_(options),
        cancel_(cancel),
        run_options_{.width = options.width,
                     .connect_timeout = options.connect_timeout,
                     .timeout = options.timeout} {
    for (std::size_t i = 0; i < hosts.size(); ++i)
      outputs_.push_back(std::make_unique<HostOutput>(i, options.delivery, sink));
    closed_.resize(hosts.size());
    run_options_.on_finished = [this](std::size_t host, const auto&) { close(host); };
  }

  std::vector<HostResult<Executed>> all() {
    std::vector<HostResult<Executed>> results =
        options_.input != nullptr ? run_with_input() : run_without_input();
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      close(i);
      if (!closed_[i]->ok()) results[i].outcome = closed_[i]->error();
    }
    return results;
  }

 private:
  std::vector<HostResult<Executed>> run_without_input() {
    const auto make = [&](std::size_t host) { return supervised_task(host); };
    const auto called = call_agent(client_, hosts_, agent_, make, run_options_, cancel_);
    std::vector<HostResult<Executed>> results;
    std::vector<std::size_t> without;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      results.push_back(outcome(i, called[i]));
      if (called[i].lacks_agent) without.push_back(i);
    }
    run_on(without, called, results);
    return results;
  }

  /// Runs the command with input. Input can be sent only once, so that no part of it may go to an
  /// attempt that fails. Therefore first finds the hosts without the agent. All hosts run at the
  /// same time, because each waits until the others have taken the present input.
  std::vector<HostResult<Executed>> run_with_input() {
    const std::string probe = agent_command(agent_.hash, std::vector<std::string>{"version"});
    const auto make = [&](std::size_t i) -> ssh::Task {
      return {.host = hosts_[i], .command = probe};
    };
    ssh::RunOptions probing = run_options_;
    probing.on_finished = {};
    probing.keeps_connections = true;
    const auto called = call_agent(client_, hosts_, agent_, make, probing, cancel_);
    std::vector<HostResult<Executed>> results;
    std::vector<std::size_t> reached;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      results.push_back(outcome(i, called[i]));
      if (called[i].exit.ok() || called[i].lacks_agent)
        reached.push_back(i);
      else
        close(i);
    }
    run_on(reached, called, results);
    return results;
  }

  /// Runs the command on the hosts at `indices`: without the agent where `called` lacks it.
  void run_on(const std::vector<std::size_t>& indices, const std::vector<CallResult>& called,
              std::vector<HostResult<Executed>>& results) {
    if (indices.empty()) return;
    std::vector<ssh::Task> tasks;
    for (const std::size_t i : indices)
      tasks.push_back(called[i].lacks_agent ? plain_task(i) : supervised_task(i));
    ssh::RunOptions options = run_options_;
    options.on_finished = [&](std::size_t at, const auto&) { close(indices[at]); };
    if (options_.input != nullptr) options.wake = options_.input->wake();
    const auto ended = client_.run(std::move(tasks), options, cancel_);
    for (std::size_t at = 0; at < indices.size(); ++at) {
      const std::size_t i = indices[at];
      if (ended[at].ok())
        results[i].outcome =
            Executed{ended[at].value(), called[i].lacks_agent ? called[i].exit.error().what() : ""};
      else
        results[i].outcome = ended[at].error();
    }
  }

  ssh::Task supervised_task(std::size_t host) const {
    std::vector<std::string> words = {"exec"};
    if (!options_.environment.empty()) words.emplace_back("--variables");
    if (options_.input != nullptr) words.emplace_back("--input");
    words.emplace_back("--");
    words.insert(words.end(), argv_.begin(), argv_.end());
    ssh::Task task = task_on(host, agent_command(agent_.hash, words));
    task.hold_input_open = true;
    std::string variables;
    if (!options_.environment.empty())
      variables = transfer::to_text({.kind = transfer::InputKind::variables},
                                    transfer::encode_variables(options_.environment));
    add_input(task, std::move(variables), framed(host));
    return task;
  }

  ssh::Task plain_task(std::size_t host) const {
    if (options_.environment.empty()) {
      std::vector<std::string> words = {"exec"};
      words.insert(words.end(), argv_.begin(), argv_.end());
      ssh::Task task = task_on(host, shell_join(words));
      add_input(task, "", unframed(host));
      return task;
    }
    std::string script = "export";
    for (const std::string& assignment : options_.environment) {
      const auto equals = assignment.find('=');
      script +=
          " " + assignment.substr(0, equals) + "=" + shell_quote(assignment.substr(equals + 1));
    }
    std::vector<std::string> words = {"exec", "/bin/sh", "-c", kWithVariables,
                                      std::to_string(script.size())};
    words.insert(words.end(), argv_.begin(), argv_.end());
    ssh::Task task = task_on(host, shell_join(words));
    add_input(task, std::move(script), unframed(host));
    return task;
  }

  ssh::Task task_on(std::size_t host, const std::string& command) const {
    HostOutput* const output = outputs_[host].get();
    return {.host = hosts_[host],
            .command = command,
            .on_stdout = [output](std::string_view text) { output->add(OutputChannel::out, text); },
            .on_stderr = [output](std::string_view text) { output->add(OutputChannel::err, text); },
            .next_input = {},
            .hold_input_open = false,
            .most_output = ssh::kEndless};
  }

  using NextInput = std::function<std::optional<std::string>()>;

  /// Sends `first`, then the input of `rest`, which may be null.
  static void add_input(ssh::Task& task, std::string first, NextInput rest) {
    if (first.empty() && !rest) return;
    task.next_input = [first = std::move(first),
                       rest = std::move(rest)]() mutable -> std::optional<std::string> {
      if (!first.empty()) return std::exchange(first, "");
      return rest ? rest() : std::nullopt;
    };
  }

  NextInput framed(std::size_t host) const {
    if (options_.input == nullptr) return {};
    return framed_input(*options_.input, host, Finished::at_once);
  }

  NextInput unframed(std::size_t host) const {
    if (options_.input == nullptr) return {};
    return [&input = *options_.input, host]() -> std::optional<std::string> {
      const auto piece = input.take(host);
      if (!piece) return std::nullopt;
      input.finish(host, piece->offset + piece->bytes.size());
      return piece->bytes;
    };
  }

  HostResult<Executed> outcome(std::size_t host, const CallResult& called) const {
    const NodeName& name = hosts_[host].name;
    if (!called.exit.ok()) return {name, called.exit.error()};
    return {name, Executed{called.exit.value()}};
  }

  /// Handles the end of a host's output.
  void close(std::size_t host) {
    if (closed_[host]) return;
    closed_[host].emplace();
    if (options_.input != nullptr) options_.input->leave(host);
    closed_[host] = attempt([&] { outputs_[host]->finish(); });
  }

  ssh::Client& client_;
  std::span<const ssh::Host> hosts_;
  const std::vector<std::string>& argv_;
  const AgentProgram& agent_;
  const ExecOptions& options_;
  const Cancel& cancel_;
  ssh::RunOptions run_options_;
  std::vector<std::unique_ptr<HostOutput>> outputs_;
  /// The outcomes of the output's sink, by host. Present once the host has ended.
  std::vector<std::optional<Outcome<void>>> closed_;
};

}  // namespace

std::vector<HostResult<Executed>> exec_everywhere(
    ssh::Client& client, std::span<const ssh::Host> hosts, const std::vector<std::string>& argv,
    const AgentProgram& agent, const ExecOptions& options, OutputSink& sink, const Cancel& cancel) {
  return Execution(client, hosts, argv, agent, options, sink, cancel).all();
}

}  // namespace fastgpu::remote
