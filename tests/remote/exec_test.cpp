#include "remote/exec.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>

#include "fakes/fake_ssh.hpp"
#include "process/capture.hpp"
#include "support/sshd_fixture.hpp"
#include "transfer/input_frames.hpp"

namespace fastgpu::remote {
namespace {

using test::FakeReply;
using test::FakeSsh;

struct Recorded final : OutputSink {
  void output(std::size_t host, OutputChannel channel, std::string_view text) override {
    (channel == OutputChannel::out ? out : err).at(host) += text;
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

class ExecWorld {
 public:
  ExecWorld() {
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

  test::TempDirectory dir;
  AgentProgram agent;
};

TEST_SUITE_BEGIN("remote/exec");

TEST_CASE("where the agent is present one command a host is enough") {
  const ExecWorld world;
  FakeSsh client([](const auto&) -> FakeReply { return {.exit = {.status = 3}, .out = "x\n"}; });
  Recorded sink;
  const auto results = world.exec(client, 2, sink);
  REQUIRE(client.seen.size() == 2);
  const std::string path = "~/.fastgpu/bin/fastgpu-agent-" + world.agent.hash.value;
  CHECK(client.seen[0].command.starts_with("test -s " + path + " && exec " + path +
                                           " exec -- printf 'a b' || exec /bin/sh -c "));
  CHECK(client.seen[0].hold_input_open);
  CHECK(results[0].value().exit.code() == 3);
  CHECK(results[0].value().unsupervised.empty());
  CHECK(sink.out[1] == "x\n");
}

TEST_CASE("a missing agent is noticed behind what start-up files of the shell print") {
  const ExecWorld world;
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
  const ExecWorld world;
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
  const ExecWorld world;
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
  const ExecWorld world;
  FakeSsh client([&](const FakeSsh::Seen& seen) -> FakeReply {
    if (world.calls_agent(seen)) return world.missing();
    if (seen.input.empty()) return {.exit = {.status = 7}, .out = "plain\n"};
    return {.exit = {.status = 11},
            .err =
                "mkdir: cannot create directory '/home/departments/physics/people/ann/.fastgpu': "
                "Read-only file system\n"};
  });
  Recorded sink;
  const auto results = world.exec(client, 1, sink);
  REQUIRE(results[0].ok());
  CHECK(results[0].value().exit.code() == 7);
  CHECK(results[0].value().unsupervised.find("Read-only file system") != std::string::npos);
  CHECK(sink.out[0] == "plain\n");
  CHECK(client.seen.back().command == "exec printf 'a b'");
}

/// Its input, as the agent would decode it.
struct Decoded {
  explicit Decoded(const std::string& input) {
    transfer::InputDecoder decoder(
        [this](const transfer::InputFrame& frame, std::string_view text) {
          if (frame.kind == transfer::InputKind::variables)
            variables = transfer::decode_variables(text);
          if (frame.kind == transfer::InputKind::data) data += text;
          if (frame.kind == transfer::InputKind::end) ended = true;
        });
    decoder.feed(input);
  }
  std::vector<std::string> variables;
  std::string data;
  bool ended = false;
};

TEST_CASE("variables go by standard input and are in no command line, with the agent or without") {
  const ExecWorld world;
  for (const bool has_agent : {true, false}) {
    CAPTURE(has_agent);
    FakeSsh client([&](const FakeSsh::Seen& seen) -> FakeReply {
      if (has_agent) return {};
      if (world.calls_agent(seen)) return world.missing();
      if (seen.input.starts_with("the program"))
        return {.exit = {.status = 11}, .err = "Read-only file system\n"};
      return {};
    });
    Recorded sink;
    const Cancel cancel;
    ExecOptions options;
    options.environment = {"TOKEN=se'cret\n", "B=2"};
    exec_everywhere(client, hosts(1), {"env"}, world.agent, options, sink, cancel);
    for (const FakeSsh::Seen& seen : client.seen)
      CHECK(seen.command.find("cret") == std::string::npos);
    if (has_agent)
      CHECK(Decoded(client.seen.back().input).variables == options.environment);
    else
      CHECK(client.seen.back().input == "export TOKEN='se'\\''cret\n' B=2");
  }
}

TEST_CASE("what a host without the agent gets is run by any shell") {
  const test::TempDirectory dir;
  test::write_file(dir.path() / "agent", "the program", std::filesystem::perms::owner_all);
  const AgentProgram agent = read_agent_program(dir.path() / "agent");
  FakeSsh client([&](const FakeSsh::Seen& seen) -> FakeReply {
    if (seen.command.starts_with("test -s"))
      return {.exit = {.status = 127}, .err = "exec: fastgpu-agent-" + agent.hash.value + "\n"};
    if (seen.input.starts_with("the program")) return {.exit = {.status = 11}};
    const Cancel never;
    process::CaptureOptions with;
    with.input = seen.input;
    return {.out = process::capture({.argv = {"/bin/sh", "-c", seen.command}}, with, never).out};
  });
  Recorded sink;
  const Cancel cancel;
  ExecOptions options;
  options.environment = {"ODD=a b\n'\"$HOME`id`\\\xff", "EMPTY="};
  exec_everywhere(client, hosts(1), {"sh", "-c", "printf %s \"$ODD|$EMPTY|$1\"", "x", "a b"}, agent,
                  options, sink, cancel);
  CHECK(sink.out[0] == "a b\n'\"$HOME`id`\\\xff||a b");
}

TEST_CASE("standard input goes to each host once, and none of it to a try without the agent") {
  const ExecWorld world;
  const auto path = world.dir.path() / "input";
  test::write_file(path, "hello", std::filesystem::perms::owner_all);
  bool present = false;
  FakeSsh client([&](const FakeSsh::Seen& seen) -> FakeReply {
    if (seen.host == "n1" && world.calls_agent(seen) && !present) return world.missing();
    if (seen.host == "n2") return {.failure = Error(ErrorKind::transient, "gone")};
    present = present || seen.input == "the program";
    return {};
  });
  const UniqueFd file(::open(path.c_str(), O_RDONLY));
  SharedInput input(file.get(), 3);
  Recorded sink;
  const Cancel cancel;
  ExecOptions options;
  options.input = &input;
  options.environment = {"A=1"};
  const auto results =
      exec_everywhere(client, hosts(3), {"cat"}, world.agent, options, sink, cancel);
  CHECK(results[0].ok());
  CHECK(results[1].ok());
  CHECK_FALSE(results[2].ok());
  std::string given;
  for (const FakeSsh::Seen& seen : client.seen) {
    if (seen.input.empty() || seen.input == "the program") continue;
    const Decoded decoded(seen.input);
    CHECK(decoded.ended);
    CHECK(decoded.variables == options.environment);
    given += seen.host + ":" + decoded.data + " ";
  }
  CHECK(given == "n0:hello n1:hello ");
}

TEST_CASE("a program that itself ends with 127 is no missing agent") {
  const ExecWorld world;
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
  const ExecWorld world;
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
