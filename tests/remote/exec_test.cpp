#include "remote/exec.hpp"

#include <doctest/doctest.h>

#include "fakes/fake_ssh.hpp"
#include "support/sshd_fixture.hpp"

namespace fastgpu::remote {
namespace {

using test::FakeReply;
using test::FakeSsh;

struct Recorded final : OutputSink {
  void output(std::size_t host, Channel channel, std::string_view text) override {
    (channel == Channel::out ? out : err).at(host) += text;
    story += "said " + std::to_string(host) + ", ";
  }
  void ended(std::size_t host) override { story += "ended " + std::to_string(host) + ", "; }
  std::string story;
  std::vector<std::string> out{4};
  std::vector<std::string> err{4};
};

std::vector<ssh::Host> hosts(int count) {
  std::vector<ssh::Host> all;
  for (int i = 0; i < count; ++i)
    all.push_back({.name = NodeName{"n" + std::to_string(i)}});
  return all;
}

class World {
 public:
  World() {
    test::write_file(dir.path() / "agent", "the program", std::filesystem::perms::owner_all);
    agent = read_agent_program(dir.path() / "agent");
  }

  FakeReply missing() const {
    return {.exit = {.status = 127},
            .err = "sh: 1: exec: /root/.fastgpu/bin/fastgpu-agent-" + agent.hash.value +
                   ": not found\n"};
  }
  bool calls_agent(const FakeSsh::Seen& seen) const {
    return seen.command.starts_with("test -s ~/" + agent_path(agent.hash));
  }
  auto exec(FakeSsh& client, int count, Recorded& sink) const {
    const Cancel cancel;
    return exec_everywhere(client, hosts(count), {"printf", "a b"}, agent, {}, sink, cancel);
  }

  test::TemporaryDirectory dir;
  AgentProgram agent;
};

TEST_SUITE_BEGIN("remote/exec");

TEST_CASE("where the agent is present one command a host is enough") {
  const World world;
  FakeSsh client([](const auto&) -> FakeReply { return {.exit = {.status = 3}, .out = "x\n"}; });
  Recorded sink;
  const auto results = world.exec(client, 2, sink);
  REQUIRE(client.seen.size() == 2);
  const std::string path = "~/.fastgpu/bin/fastgpu-agent-" + world.agent.hash.value;
  CHECK(client.seen[0].command == "test -s " + path + " && exec " + path +
                                      " exec -- printf 'a b' || exec " + path + "-is-empty");
  CHECK(client.seen[0].hold_input_open);
  CHECK(results[0].value().exit.code() == 3);
  CHECK(results[0].value().unsupervised.empty());
  CHECK(sink.out[1] == "x\n");
}

TEST_CASE("a missing agent is noticed behind what start-up files of the shell print") {
  const World world;
  bool present = false;
  FakeSsh client([&](const FakeSsh::Seen& seen) -> FakeReply {
    FakeReply missing = world.missing();
    missing.err = "cat: write error: No space left on device\n" + missing.err;
    if (world.calls_agent(seen)) return present ? FakeReply{.err = "said\n"} : missing;
    present = seen.input == "the program";
    return {};
  });
  Recorded sink;
  const auto results = world.exec(client, 1, sink);
  REQUIRE(results[0].ok());
  CHECK(results[0].value().exit.code() == 0);
  CHECK(sink.err[0] == "said\n");
}

TEST_CASE("a missing agent is put there, only where it is missing, and its absence is not shown") {
  const World world;
  bool present = false;
  FakeSsh client([&](const FakeSsh::Seen& seen) -> FakeReply {
    if (seen.host == "n0") return {};
    if (world.calls_agent(seen)) return present ? FakeReply{.err = "said\n"} : world.missing();
    present = seen.input == "the program";
    return {};
  });
  Recorded sink;
  const auto results = world.exec(client, 2, sink);
  CHECK(client.seen.size() == 4);
  CHECK(results[1].ok());
  CHECK(sink.err[1] == "said\n");
}

TEST_CASE("each host's end is told when it comes, once, and not of a try without the agent") {
  const World world;
  bool present = false;
  FakeSsh client([&](const FakeSsh::Seen& seen) -> FakeReply {
    if (seen.host == "n1" && world.calls_agent(seen) && !present) return world.missing();
    present = present || !seen.input.empty();
    return {.out = seen.input.empty() ? "x\n" : "", .err = seen.host == "n0" ? "no newline" : ""};
  });
  Recorded sink;
  world.exec(client, 3, sink);
  CHECK(sink.story == "said 0, said 0, ended 0, said 2, ended 2, said 1, ended 1, ");
}

TEST_CASE(
    "a home directory that cannot be written leaves plain execution, and the result says so") {
  const World world;
  FakeSsh client([&](const FakeSsh::Seen& seen) -> FakeReply {
    if (world.calls_agent(seen)) return world.missing();
    if (seen.input.empty()) return {.exit = {.status = 7}, .out = "plain\n"};
    return {.exit = {.status = 11},
            .err = "mkdir: cannot create directory: Read-only file system\n"};
  });
  Recorded sink;
  const auto results = world.exec(client, 1, sink);
  REQUIRE(results[0].ok());
  CHECK(results[0].value().exit.code() == 7);
  CHECK(results[0].value().unsupervised.find("Read-only file system") != std::string::npos);
  CHECK(sink.out[0] == "plain\n");
  CHECK(client.seen.back().command == "exec printf 'a b'");
}

TEST_CASE("a program that itself ends with 127 is no missing agent") {
  const World world;
  FakeSsh client([](const auto&) -> FakeReply {
    return {.exit = {.status = 127}, .err = "nope: No such file\n"};
  });
  Recorded sink;
  const auto results = world.exec(client, 1, sink);
  CHECK(client.seen.size() == 1);
  CHECK(results[0].value().exit.code() == 127);
  CHECK(sink.err[0] == "nope: No such file\n");
}

TEST_CASE("a host that fails leaves the others alone") {
  const World world;
  FakeSsh client([](const FakeSsh::Seen& seen) -> FakeReply {
    if (seen.host == "n0") return {.failure = Error(ErrorKind::transient, "gone")};
    return {};
  });
  Recorded sink;
  const auto results = world.exec(client, 2, sink);
  CHECK(!results[0].ok());
  CHECK(results[1].ok());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::remote
