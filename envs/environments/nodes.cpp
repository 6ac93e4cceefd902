#include "envs/environments/nodes.hpp"

#include <memory>

#include "base/outcome.hpp"
#include "base/pulse.hpp"
#include "process/capture.hpp"
#include "remote/agent_call.hpp"
#include "transfer/failure_status.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::string_view kDoing = "doing=";
constexpr std::string_view kBeat = "beat=";
constexpr std::size_t kMostSaid = 4096;

std::string without_end(std::string text) {
  while (text.ends_with('\n'))
    text.pop_back();
  return text;
}

Error failure(const std::string& where, const ssh::Exit& exit, const std::string& said) {
  const auto kind = exit.signal.empty() ? transfer::failure_kind(exit.status) : std::nullopt;
  const std::string text = without_end(said);
  if (kind) return {*kind, where + ": " + text};
  return {ErrorKind::remote, where + ": fastgpu-agent ended with " + std::to_string(exit.code()) +
                                 (text.empty() ? "" : ": " + text)};
}

/// The output of one node: signs of life, its current action, and the answer at last.
class Conversation {
 public:
  Conversation(const NodeName& node, const OnDoing& on_doing) : node_(node), on_doing_(on_doing) {}

  void hear(std::string_view piece) {
    unfinished_ += piece;
    std::size_t from = 0;
    for (std::size_t end = 0; (end = unfinished_.find('\0', from)) != std::string::npos;
         from = end + 1)
      take(std::string_view(unfinished_).substr(from, end - from));
    unfinished_.erase(0, from);
  }

  void hear_error(std::string_view piece) {
    said_ += piece.substr(0, kMostSaid - std::min(said_.size(), kMostSaid));
  }

  agent::Records result(const remote::CallResult& called) const {
    const ssh::Exit& exit = called.exit.value();
    if (exit.code() != 0) throw failure(node_.value, exit, said_);
    return agent::Records(answer_ + unfinished_, "the answer of " + node_.value);
  }

 private:
  void take(std::string_view entry) {
    if (entry.starts_with(kBeat)) return;
    if (!entry.starts_with(kDoing)) {
      answer_.append(entry) += '\0';
    } else if (on_doing_) {
      on_doing_(node_, std::string(entry.substr(kDoing.size())));
    }
  }

  const NodeName& node_;
  const OnDoing& on_doing_;
  std::string unfinished_;
  std::string answer_;
  std::string said_;
};

}  // namespace

std::vector<HostResult<agent::Records>> call_nodes(
    const NodeAccess& access, std::span<const ssh::Host> hosts,
    const std::function<NodeCall(std::size_t)>& call_of, const OnDoing& on_doing) {
  std::vector<std::unique_ptr<Conversation>> conversations(hosts.size());
  const auto make = [&](std::size_t i) -> ssh::Task {
    const NodeCall call = call_of(i);
    conversations[i] = std::make_unique<Conversation>(hosts[i].name, on_doing);
    Conversation* const talk = conversations[i].get();
    ssh::Task task{.host = hosts[i],
                   .command = remote::agent_command(access.agent.hash, call.words),
                   .on_stdout = [talk](std::string_view piece) { talk->hear(piece); },
                   .on_stderr = [talk](std::string_view piece) { talk->hear_error(piece); },
                   .most_output = ssh::kEndless};
    if (call.open_input)
      task.next_input = call.open_input();
    else if (!call.input.empty())
      task.next_input = [left = std::optional(call.input)]() mutable {
        return std::exchange(left, std::nullopt);
      };
    return task;
  };
  const auto called =
      remote::call_agent(access.client, hosts, access.agent, make, access.options, access.cancel);
  std::vector<HostResult<agent::Records>> results;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    results.push_back(
        {hosts[i].name, attempt([&] { return conversations[i]->result(called[i]); })});
  return results;
}

agent::Records call_node(const NodeAccess& access, const ssh::Host& host, const NodeCall& call,
                         const OnDoing& on_doing) {
  const auto call_it = [&](std::size_t) { return call; };
  return call_nodes(access, {&host, 1}, call_it, on_doing).front().value();
}

agent::Records call_here(const remote::AgentProgram& agent, const NodeCall& call,
                         const Cancel& cancel) {
  using namespace std::chrono_literals;
  std::vector<std::string> argv = {agent.file.string()};
  argv.insert(argv.end(), call.words.begin(), call.words.end());
  const auto done = process::capture(
      {.argv = argv}, {.input = call.input, .limit = {64 << 20}, .timeout = 1h}, cancel);
  const NodeName here{"this machine"};
  Conversation talk(here, {});
  talk.hear(done.out);
  talk.hear_error(without_pulses(done.err));
  return talk.result({ssh::Exit{.status = done.status.shell_code()}});
}

}  // namespace fastgpu::envs
