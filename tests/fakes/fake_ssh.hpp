// Hosts that answer from a script: records what is asked of them, feeds the callbacks.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ssh/client.hpp"

namespace fastgpu::test {

/// What a host answers to one command.
struct FakeReply {
  ssh::Exit exit{};
  std::string out{};
  std::string err{};
  std::optional<Error> failure{};  ///< Instead of an exit.
};

class FakeSsh final : public ssh::Client {
 public:
  struct Seen {
    std::string host;
    std::string command;
    std::string input;
    bool hold_input_open = false;
  };
  using Script = std::function<FakeReply(const Seen&)>;

  FakeSsh() = default;
  explicit FakeSsh(Script script) : script_(std::move(script)) {}

  std::vector<HostResult<ssh::Exit>> run(std::vector<ssh::Task> tasks,
                                         const ssh::RunOptions& options,
                                         const Cancel& cancel) override {
    std::vector<HostResult<ssh::Exit>> results;
    for (const ssh::Task& task : tasks) {
      results.push_back({task.host.name, cancel.requested() ? interrupted() : run_one(task)});
      if (options.on_finished) options.on_finished(results.size() - 1, results.back());
    }
    return results;
  }

  /// Everything asked so far, in order.
  std::vector<Seen> seen;

 private:
  using Result = Outcome<ssh::Exit>;

  static Result interrupted() { return Error(ErrorKind::interrupted, "interrupted"); }

  Result run_one(const ssh::Task& task) try {
    Seen one{task.host.name.value, task.command, "", task.hold_input_open};
    while (task.next_input) {
      const auto piece = task.next_input();
      if (!piece) break;
      one.input += *piece;
    }
    seen.push_back(one);
    const FakeReply reply = script_ ? script_(one) : FakeReply{};
    if (task.on_stdout && !reply.out.empty()) task.on_stdout(reply.out);
    if (task.on_stderr && !reply.err.empty()) task.on_stderr(reply.err);
    if (reply.failure) return *reply.failure;
    return reply.exit;
  } catch (const Error& e) {
    return e;
  }

  Script script_;
};

}  // namespace fastgpu::test
