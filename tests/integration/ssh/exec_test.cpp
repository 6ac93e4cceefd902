#include "remote/exec.hpp"

#include <doctest/doctest.h>

#include <deque>

#include "base/pipe.hpp"
#include "ssh/ssh_client.hpp"
#include "support/sshd_fixture.hpp"

namespace fastgpu {
namespace {

using namespace std::chrono_literals;

struct Recorded final : remote::OutputSink {
  void output(std::size_t host, remote::OutputChannel channel, std::string_view text) override {
    (channel == remote::OutputChannel::out ? out : err).at(host) += text;
    if (on_output) on_output();
  }
  std::vector<std::string> out = std::vector<std::string>(16);
  std::vector<std::string> err = std::vector<std::string>(16);
  std::function<void()> on_output;
};

remote::AgentProgram built_agent() {
  return remote::read_agent_program(std::string(FASTGPU_BUILD_ROOT) + "/src/agent/fastgpu-agent");
}

auto exec(std::span<const ssh::Host> hosts, const std::vector<std::string>& argv, Recorded& sink,
          const remote::ExecOptions& options = {}) {
  ssh::SshClient client;
  const Cancel cancel;
  return remote::exec_everywhere(client, hosts, argv, built_agent(), options, sink, cancel);
}

bool is_running(const std::string& pid_text) {
  return ::kill(static_cast<pid_t>(std::stol(pid_text)), 0) == 0;
}

bool ends_within(const std::string& pid_text, std::chrono::milliseconds limit) {
  for (auto waited = 0ms; waited < limit; waited += 20ms) {
    if (!is_running(pid_text)) return true;
    std::this_thread::sleep_for(20ms);
  }
  return false;
}

TEST_SUITE_BEGIN("integration/ssh/exec");

TEST_CASE("the first exec brings the agent to eight hosts, the second finds it there") {
  std::deque<test::Sshd> sshds(8);
  std::vector<ssh::Host> hosts;
  for (const test::Sshd& sshd : sshds)
    hosts.push_back(sshd.host("n" + std::to_string(hosts.size())));
  for (int round = 0; round < 2; ++round) {
    Recorded sink;
    const auto results = exec(hosts, {"sh", "-c", "echo out; echo err >&2; exit 3"}, sink);
    for (std::size_t i = 0; i < 8; ++i) {
      REQUIRE_MESSAGE(results[i].ok(), results[i].error().what());
      CHECK(results[i].value().exit.code() == 3);
      CHECK(results[i].value().unsupervised == "");
      CHECK(sink.out[i] == "out\n");
      CHECK(sink.err[i] == "err\n");
    }
  }
  const auto file =
      sshds[0].home() / ".fastgpu/bin" / ("fastgpu-agent-" + built_agent().hash.value);
  CHECK(std::filesystem::exists(file));
  CHECK(std::filesystem::status(file.parent_path()).permissions() ==
        std::filesystem::perms::owner_all);
}

/// A host whose `uname -m` says so; returns the option of sshd that makes one of it.
std::string with_processor(const test::TempDirectory& dir, const std::string& name) {
  test::write_file(dir.path() / "uname", "#!/bin/sh\necho " + name + "\n",
                   std::filesystem::perms::owner_all);
  return "ForceCommand PATH=" + dir.path().string() +
         ":$PATH exec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"";
}

TEST_CASE("each host gets the agent that is for its processor") {
  const test::TempDirectory dir;
  const test::Sshd alike;
  const test::Sshd other(with_processor(dir, "aarch64"));
  const auto program = dir.path() / "fastgpu-agent-aarch64";
  test::write_file(program, "#!/bin/sh\nexec " + built_agent().file.string() + " \"$@\"\n",
                   std::filesystem::perms::owner_all);
  const auto agent =
      remote::read_agent_program(built_agent().file, {{remote::MachineName{"aarch64"}, program}});
  CHECK(agent.hash != built_agent().hash);
  const std::vector<ssh::Host> hosts = {alike.host("n1"), other.host("n2")};
  ssh::SshClient client;
  Recorded sink;
  const std::vector<std::string> words = {"echo", "here"};
  const auto results = remote::exec_everywhere(client, hosts, words, agent, {}, sink, Cancel{});
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    REQUIRE_MESSAGE(results[i].ok(), results[i].error().what());
    CHECK(results[i].value().unsupervised == "");
    CHECK(sink.out[i] == "here\n");
  }
  CHECK(test::read_file(other.home() / remote::agent_path(agent.hash)) == test::read_file(program));
  CHECK(test::read_file(alike.home() / remote::agent_path(agent.hash)) ==
        test::read_file(built_agent().file));
}

/// The agent that `./dev agents` builds for another processor than ours, run by an emulator.
struct Emulated {
  std::string machine;
  std::filesystem::path agent;
  std::filesystem::path emulator;

  bool is_there() const {
    return std::filesystem::exists(agent) && std::filesystem::exists(emulator);
  }
};

Emulated emulated() {
#ifdef __x86_64__
  const std::string machine = "aarch64";
#else
  const std::string machine = "x86_64";
#endif
  return {machine, std::string(FASTGPU_BUILD_ROOT) + "/src/agent/fastgpu-agent-" + machine,
          "/usr/bin/qemu-" + machine + "-static"};
}

TEST_CASE("the agent for another processor runs commands, and ends them with their client" *
          doctest::skip(!emulated().is_there())) {
  const test::TempDirectory dir;
  const Emulated other = emulated();
  const test::Sshd sshd(with_processor(dir, other.machine));
  const auto program = dir.path() / "agent";
  test::write_file(
      program,
      "#!/bin/sh\nexec " + other.emulator.string() + " " + other.agent.string() + " \"$@\"\n",
      std::filesystem::perms::owner_all);
  const auto agent = remote::read_agent_program(built_agent().file,
                                                {{remote::MachineName{other.machine}, program}});
  const ssh::Host host = sshd.host("n1");
  ssh::SshClient client;
  Cancel cancel;
  Recorded sink;
  sink.on_output = [&] { cancel.request(); };
  const std::vector<std::string> words = {"sh", "-c", "echo $$; exec sleep 60"};
  const auto results = remote::exec_everywhere(client, {&host, 1}, words, agent, {}, sink, cancel);
  CHECK(ends_within(sink.out[0], 10s));
}

TEST_CASE("a host whose processor no agent is for is served without, and told why") {
  const test::TempDirectory dir;
  const test::Sshd sshd(with_processor(dir, "riscv64"));
  const ssh::Host host = sshd.host("n1");
  Recorded sink;
  const auto results = exec({&host, 1}, {"echo", "here"}, sink);
  REQUIRE_MESSAGE(results[0].ok(), results[0].error().what());
  CHECK(results[0].value().unsupervised.find("its processor is riscv64") != std::string::npos);
  CHECK(sink.out[0] == "here\n");
  CHECK_FALSE(std::filesystem::exists(sshd.home() / remote::agent_path(built_agent().hash)));
}

TEST_CASE("an agent that was damaged on its host is put there anew, and the command runs once") {
  const test::Sshd sshd;
  const auto file = sshd.home() / remote::agent_path(built_agent().hash);
  const std::string whole = test::read_file(built_agent().file);
  const std::vector<std::string> words = {"sh", "-c", "echo x >>$HOME/runs; echo out; exit 3"};
  // No program, nothing, the beginning alone.
  for (const std::string& left :
       {std::string("no program\n"), std::string(), whole.substr(0, 100)}) {
    CAPTURE(left.size());
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::remove(file);
    test::write_file(file, left, std::filesystem::perms::owner_all);
    Recorded sink;
    const auto results = exec(std::vector{sshd.host("a")}, words, sink);
    REQUIRE_MESSAGE(results[0].ok(), results[0].error().what());
    CHECK(results[0].value().exit.code() == 3);
    CHECK(results[0].value().unsupervised == "");
    CHECK(sink.out[0] == "out\n");
    CHECK(sink.err[0] == "");
    CHECK(test::read_file(file) == whole);
  }
  CHECK(test::read_file(sshd.home() / "runs") == "x\nx\nx\n");
}

TEST_CASE("an agent that arrives damaged is known by its sum, and is not left there") {
  const test::TempDirectory dir;
  test::write_file(dir.path() / "cat", "#!/bin/sh\n/bin/cat; echo more\n",
                   std::filesystem::perms::owner_all);
  const test::Sshd sshd("ForceCommand PATH=" + dir.path().string() +
                        ":$PATH exec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"");
  Recorded sink;
  const auto results = exec(std::vector{sshd.host("a")}, {"touch", "ran"}, sink);
  REQUIRE_FALSE(results[0].ok());
  CHECK(results[0].error().kind() == ErrorKind::transient);
  CHECK(std::string(results[0].error().what()).find("it arrived damaged") != std::string::npos);
  CHECK(std::filesystem::is_empty(sshd.home() / ".fastgpu/bin"));
  CHECK_FALSE(std::filesystem::exists(sshd.home() / "ran"));
}

TEST_CASE("arguments of any bytes arrive unchanged") {
  const test::Sshd sshd;
  std::string all;
  for (int c = 1; c < 256; ++c)
    all += static_cast<char>(c);
  const std::vector<std::string> words = {"printf",     "%s\\n", all,    "",    "a b",
                                          "$HOME `id`", "'\"\\", "; rm", "*~!", "\n\n",
                                          "--",         "-n",    "ä€"};
  std::string expected;
  for (std::size_t i = 2; i < words.size(); ++i)
    expected += words[i] + "\n";
  Recorded sink;
  const auto results = exec(std::vector{sshd.host("a")}, words, sink);
  REQUIRE_MESSAGE(results[0].ok(), results[0].error().what());
  CHECK(results[0].value().exit.code() == 0);
  CHECK(sink.out[0] == expected);
}

TEST_CASE("a program that does not exist is named, and one that a signal ends has its code") {
  const test::Sshd sshd;
  Recorded sink;
  const auto none = exec(std::vector{sshd.host("a")}, {"no-such-program"}, sink);
  CHECK(none[0].value().exit.code() == 127);
  CHECK(sink.err[0].find("no-such-program") != std::string::npos);
  const auto killed = exec(std::vector{sshd.host("a")}, {"sh", "-c", "kill -SEGV $$"}, sink);
  CHECK(killed[0].value().exit.code() == 139);
}

TEST_CASE("a time-out ends the remote program and what it started") {
  const test::Sshd sshd;
  Recorded warm;
  exec(std::vector{sshd.host("a")}, {"true"}, warm);  // The agent is there then.
  Recorded sink;
  const auto results = exec(std::vector{sshd.host("a")}, {"sh", "-c", "sleep 1000 & echo $!; wait"},
                            sink, {.timeout = 3s});
  REQUIRE(!results[0].ok());
  CHECK(results[0].error().kind() == ErrorKind::timeout);
  CHECK(ends_within(sink.out[0], 3s));
}

TEST_CASE("when the client is killed by -9 the remote program ends") {
  const test::Sshd sshd;
  Recorded warm;
  exec(std::vector{sshd.host("a")}, {"true"}, warm);
  const Pipe shown = make_pipe();
  const pid_t client = ::fork();
  if (client == 0) {
    Recorded sink;
    sink.on_output = [&] {
      const std::string& text = sink.out[0];
      if (::write(shown.write_end.get(), text.data(), text.size()) < 0) ::_exit(1);
    };
    exec(std::vector{sshd.host("a")}, {"sh", "-c", "trap '' HUP; echo $$; sleep 1000; :"}, sink);
    ::_exit(0);
  }
  std::string pid(64, '\0');
  const ssize_t size = ::read(shown.read_end.get(), pid.data(), pid.size());
  REQUIRE(size > 0);
  pid.resize(static_cast<std::size_t>(size));
  CHECK(is_running(pid));
  ::kill(client, SIGKILL);
  ::waitpid(client, nullptr, 0);
  CHECK(ends_within(pid, 4s));
}

TEST_CASE("where no agent can be put the command runs all the same") {
  const test::Sshd sshd;
  test::write_file(sshd.home() / ".fastgpu", "in the way", std::filesystem::perms::owner_read);
  Recorded sink;
  const auto results = exec(std::vector{sshd.host("a")}, {"echo", "plain"}, sink);
  REQUIRE_MESSAGE(results[0].ok(), results[0].error().what());
  CHECK(sink.out[0] == "plain\n");
  CHECK(results[0].value().unsupervised != "");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
