#include "remote/agent_call.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "base/pulse.hpp"

namespace fastgpu::remote {
namespace {

/// Holds stderr back while it may be the shell's error about a missing agent. The output of the
/// shell's startup files may come first.
class ComplaintFilter {
 public:
  ComplaintFilter(const AgentHash& hash, std::function<void(std::string_view)> sink)
      : hash_(hash), sink_(std::move(sink)) {}

  void add(std::string_view piece) {
    const bool may_begin = !passing_ || piece.find(hash_.value) != piece.npos;
    if (held_.empty() && !may_begin) return give(piece);
    held_ += piece;
    constexpr std::size_t kLongestComplaint = 4096;
    const auto line = held_.find('\n');
    const bool undecided = line == held_.npos || held_.find(hash_.value) != held_.npos;
    if (!undecided || held_.size() > kLongestComplaint) release();
  }

  bool was_complaint(const ssh::Exit& exit) const { return agent_missing(hash_, exit, held_); }

  void release() {
    passing_ = true;
    give(held_);
    held_.clear();
  }

 private:
  void give(std::string_view text) const {
    if (sink_ && !text.empty()) sink_(text);
  }

  const AgentHash& hash_;
  std::function<void(std::string_view)> sink_;
  std::string held_;
  bool passing_ = false;
};

class AgentCall {
 public:
  AgentCall(ssh::Client& client, std::span<const ssh::Host> hosts, const AgentProgram& agent,
            const MakeTask& make_task, const ssh::RunOptions& options, const Cancel& cancel)
      : client_(client),
        hosts_(hosts),
        agent_(agent),
        make_task_(make_task),
        options_(options),
        cancel_(cancel),
        results_(hosts.size()) {}

  std::vector<CallResult> all() {
    std::vector<std::size_t> indices(hosts_.size());
    for (std::size_t i = 0; i < indices.size(); ++i)
      indices[i] = i;
    const std::vector<std::size_t> without = try_on(indices);
    if (!without.empty()) {
      for (const std::size_t i : try_on(install_on(without)))
        results_[i] = CallResult{Error(ErrorKind::remote, "the agent does not start there"), true};
    }
    std::vector<CallResult> out;
    for (auto& result : results_)
      out.push_back(std::move(*result));
    return out;
  }

 private:
  /// Calls the agent on some hosts. Returns the hosts that lack it; they have no result yet.
  std::vector<std::size_t> try_on(const std::vector<std::size_t>& indices) {
    std::vector<ssh::Task> tasks;
    std::vector<std::unique_ptr<ComplaintFilter>> filters;
    for (const std::size_t i : indices) {
      ssh::Task task = make_task_(i);
      filters.push_back(std::make_unique<ComplaintFilter>(agent_.hash, task.on_stderr));
      const bool has_pulse = options_.silence.count() > 0;
      task.on_stderr = [filter = filters.back().get(), has_pulse](std::string_view text) {
        filter->add(has_pulse ? without_pulses(text) : std::string(text));
      };
      tasks.push_back(std::move(task));
    }
    ssh::RunOptions options = options_;
    options.on_finished = [&](std::size_t at, const HostResult<ssh::Exit>& one) {
      if (one.ok() && filters[at]->was_complaint(one.value())) return;
      settle(indices[at], one, *filters[at]);
      if (options_.on_finished) options_.on_finished(indices[at], one);
    };
    client_.run(std::move(tasks), options, cancel_);
    std::vector<std::size_t> without;
    std::ranges::copy_if(indices, std::back_inserter(without),
                         [&](std::size_t i) { return !results_[i]; });
    return without;
  }

  void settle(std::size_t index, const HostResult<ssh::Exit>& ended, ComplaintFilter& filter) try {
    filter.release();
    results_[index] = CallResult{ended.outcome};
  } catch (const Error& e) {
    results_[index] = CallResult{e};
  }

  /// Installs the agent. Returns the hosts that have it now; the others get their result.
  std::vector<std::size_t> install_on(const std::vector<std::size_t>& indices) {
    std::vector<ssh::Host> hosts;
    for (const std::size_t i : indices)
      hosts.push_back(hosts_[i]);
    ssh::RunOptions options = options_;
    options.on_finished = {};
    const auto installed = install_agent(client_, hosts, agent_, options, cancel_);
    std::vector<std::size_t> ready;
    for (std::size_t at = 0; at < indices.size(); ++at) {
      if (installed[at].ok()) {
        ready.push_back(indices[at]);
      } else {
        const Error& why = installed[at].error();
        results_[indices[at]] = CallResult{why, is_about_the_agent(why)};
      }
    }
    return ready;
  }

  /// Returns true if the host works but the agent cannot be stored there.
  static bool is_about_the_agent(const Error& e) {
    return e.kind() == ErrorKind::capacity || e.kind() == ErrorKind::denied ||
           e.kind() == ErrorKind::remote;
  }

  ssh::Client& client_;
  std::span<const ssh::Host> hosts_;
  const AgentProgram& agent_;
  const MakeTask& make_task_;
  ssh::RunOptions options_;
  const Cancel& cancel_;
  std::vector<std::optional<CallResult>> results_;
};

}  // namespace

std::vector<CallResult> call_agent(ssh::Client& client, std::span<const ssh::Host> hosts,
                                   const AgentProgram& agent, const MakeTask& make_task,
                                   const ssh::RunOptions& options, const Cancel& cancel) {
  return AgentCall(client, hosts, agent, make_task, options, cancel).all();
}

std::vector<std::string> ask_agents(ssh::Client& client, std::span<const ssh::Host> hosts,
                                    const AgentProgram& agent, std::span<const std::string> words,
                                    std::size_t most, const ssh::RunOptions& options,
                                    const Cancel& cancel) {
  const std::string command = agent_command(agent.hash, words);
  std::vector<std::string> said(hosts.size());
  const auto make = [&](std::size_t i) -> ssh::Task {
    said[i].clear();
    return {.host = hosts[i], .command = command, .on_stdout = [&, i](std::string_view piece) {
              said[i] += piece.substr(0, most - said[i].size());
            }};
  };
  call_agent(client, hosts, agent, make, options, cancel);
  return said;
}

}  // namespace fastgpu::remote
