#include "remote/exec.hpp"

#include <memory>

#include "base/quote.hpp"
#include "remote/agent_call.hpp"
#include "remote/lines.hpp"

namespace fastgpu::remote {
namespace {

/// The output of one host on its way to the sink.
class HostOutput {
 public:
  HostOutput(std::size_t host, Delivery delivery, OutputSink& sink)
      : host_(host),
        delivery_(delivery),
        sink_(sink),
        out_([this](std::string_view text) { sink_.output(host_, Channel::out, text); }),
        err_([this](std::string_view text) { sink_.output(host_, Channel::err, text); }) {}

  void add(Channel channel, std::string_view piece) {
    if (delivery_ == Delivery::pieces) {
      sink_.output(host_, channel, piece);
    } else {
      (channel == Channel::out ? out_ : err_).add(piece);
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
    const std::string command = supervised_command();
    const auto make = [&](std::size_t host) { return task_on(host, command); };
    const auto called = call_agent(client_, hosts_, agent_, make, run_options_, cancel_);
    std::vector<HostResult<Executed>> results;
    std::vector<std::size_t> without;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      results.push_back(outcome(i, called[i]));
      if (std::holds_alternative<NoAgent>(called[i])) without.push_back(i);
    }
    if (!without.empty()) run_plain(without, called, results);
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      close(i);
      if (closed_[i]->failure) results[i].result = *closed_[i]->failure;
    }
    return results;
  }

 private:
  std::string supervised_command() const {
    std::vector<std::string> words = {"exec"};
    for (const std::string& assignment : options_.environment)
      words.insert(words.end(), {"--env", assignment});
    words.push_back("--");
    words.insert(words.end(), argv_.begin(), argv_.end());
    return agent_command(agent_.hash, words);
  }

  std::string plain_command() const {
    std::vector<std::string> words = {"exec", "env", "--"};
    if (options_.environment.empty()) words = {"exec"};
    words.insert(words.end(), options_.environment.begin(), options_.environment.end());
    words.insert(words.end(), argv_.begin(), argv_.end());
    return shell_join(words);
  }

  ssh::Task task_on(std::size_t host, const std::string& command) const {
    HostOutput* const output = outputs_[host].get();
    return {.host = hosts_[host],
            .command = command,
            .on_stdout = [output](std::string_view text) { output->add(Channel::out, text); },
            .on_stderr = [output](std::string_view text) { output->add(Channel::err, text); },
            .next_input = {},
            .hold_input_open = true,
            .most_output = ssh::kEndless};
  }

  HostResult<Executed> outcome(std::size_t host, const CallResult& called) const {
    const NodeName& name = hosts_[host].name;
    if (const auto* exit = std::get_if<ssh::Exit>(&called)) return {name, Executed{*exit}};
    if (const auto* without = std::get_if<NoAgent>(&called)) return {name, without->why};
    return {name, std::get<Error>(called)};
  }

  void run_plain(const std::vector<std::size_t>& indices, const std::vector<CallResult>& called,
                 std::vector<HostResult<Executed>>& results) {
    std::vector<ssh::Task> tasks;
    for (const std::size_t i : indices) {
      tasks.push_back(task_on(i, plain_command()));
      tasks.back().hold_input_open = false;
    }
    ssh::RunOptions options = run_options_;
    options.on_finished = [&](std::size_t at, const auto&) { close(indices[at]); };
    const auto ended = client_.run(std::move(tasks), options, cancel_);
    for (std::size_t at = 0; at < indices.size(); ++at) {
      const std::size_t i = indices[at];
      if (ended[at].ok()) {
        results[i].result = Executed{ended[at].value(), std::get<NoAgent>(called[i]).why.what()};
      } else {
        results[i].result = ended[at].error();
      }
    }
  }

  /// What a host has said is complete.
  void close(std::size_t host) {
    if (closed_[host]) return;
    closed_[host].emplace();
    try {
      outputs_[host]->finish();
    } catch (const Error& e) {
      closed_[host]->failure = e;
    }
  }

  struct Closed {
    std::optional<Error> failure{};  ///< Of whoever takes the output.
  };

  ssh::Client& client_;
  std::span<const ssh::Host> hosts_;
  const std::vector<std::string>& argv_;
  const AgentProgram& agent_;
  const ExecOptions& options_;
  const Cancel& cancel_;
  ssh::RunOptions run_options_;
  std::vector<std::unique_ptr<HostOutput>> outputs_;
  std::vector<std::optional<Closed>> closed_;  ///< By host, once it has ended.
};

}  // namespace

std::vector<HostResult<Executed>> exec_everywhere(
    ssh::Client& client, std::span<const ssh::Host> hosts, const std::vector<std::string>& argv,
    const AgentProgram& agent, const ExecOptions& options, OutputSink& sink, const Cancel& cancel) {
  return Execution(client, hosts, argv, agent, options, sink, cancel).all();
}

}  // namespace fastgpu::remote
