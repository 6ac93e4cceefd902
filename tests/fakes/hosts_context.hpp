// The program on a machine whose hosts are played by a function.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/program/context.hpp"
#include "fakes/fake_ssh.hpp"

namespace fastgpu::test {

/// A context whose hosts answer all calls with success, except for one that may be silent.
class HostsContext : public cli::Context {
 public:
  HostsContext(cli::Ui& ui, Cancel& cancel)
      : Context(ui, cancel, [](const char*) { return std::nullopt; }) {}

  const remote::AgentProgram& agent() override { return agent_; }

  std::string silent_host{};
  std::vector<std::string> asked{};  ///< "HOST: COMMAND"

 protected:
  /// Changes the answer of a host that is not silent.
  virtual void answer(const FakeSsh::Seen& /*seen*/, FakeReply& /*reply*/) {}

  std::unique_ptr<ssh::Client> make_ssh() override {
    return std::make_unique<FakeSsh>([this](const FakeSsh::Seen& seen) {
      asked.push_back(seen.host + ": " + seen.command);
      FakeReply reply;
      if (seen.host == silent_host)
        reply.failure = Error(ErrorKind::transient, seen.host + ": connection timed out");
      else
        answer(seen, reply);
      return reply;
    });
  }

 private:
  remote::AgentProgram agent_{"/dev/null", {"0123456789abcdef"}, {}};
};

}  // namespace fastgpu::test
