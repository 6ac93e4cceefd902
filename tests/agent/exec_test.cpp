#include <doctest/doctest.h>
#include <signal.h>

#include "support/agent_process.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;
using test::agent_command;
using test::eventually;
using test::running;
using test::ScratchHome;

/// `exec` with its standard input held open.
process::Child start(const ScratchHome& home, std::vector<std::string> words) {
  words.insert(words.begin(), "exec");
  process::Command command = agent_command(home, std::move(words));
  command.in.mode = process::StreamMode::pipe;
  command.out.mode = process::StreamMode::pipe;
  command.err.mode = process::StreamMode::pipe;
  return process::Child(command);
}

std::string read_all(const UniqueFd& from) {
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; (got = ::read(from.get(), buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  return text;
}

TEST_SUITE_BEGIN("agent/exec");

TEST_CASE("the agent ends as the command ends") {
  const ScratchHome home;
  CHECK(start(home, {"--", "true"}).wait() == process::ExitStatus{.code = 0, .signal = 0});
  CHECK(start(home, {"--", "sh", "-c", "exit 3"}).wait().code == 3);
  CHECK(start(home, {"--", "sh", "-c", "kill -SEGV $$"}).wait().signal == SIGSEGV);
  CHECK(start(home, {"--", "sh", "-c", "kill -KILL $$"}).wait().signal == SIGKILL);
}

TEST_CASE("a command that is not there is named, with 127") {
  const ScratchHome home;
  process::Child missing = start(home, {"--", "no-such-program"});
  CHECK(read_all(missing.err()) == "no-such-program: No such file or directory\n");
  CHECK(missing.wait().code == 127);
  CHECK(start(home, {"--", "/etc/passwd"}).wait().code == 126);
  CHECK(start(home, {"--"}).wait().code == 2);
  CHECK(start(home, {"--env", "X", "--", "true"}).wait().code == 2);
}

TEST_CASE("arguments and variables arrive unchanged") {
  const ScratchHome home;
  const std::string odd = "a b'\"$HOME;`id`\n\xc3\xa4*";
  process::Child child = start(
      home, {"--env", "V=" + odd, "--", "sh", "-c", "printf '%s|%s' \"$V\" \"$1\"", "x", odd});
  CHECK(read_all(child.out()) == odd + "|" + odd);
}

TEST_CASE("the command's own standard input is empty") {
  const ScratchHome home;
  process::Child child = start(home, {"--", "cat"});
  CHECK(child.wait_for(5s, nullptr).has_value());
}

TEST_CASE("the end of the connection ends the command by SIGTERM") {
  const ScratchHome home;
  process::Child child = start(home, {"--", "sleep", "4711.1"});
  CHECK(eventually([] { return running("sleep 4711.1") == 1; }));
  child.in() = UniqueFd();
  CHECK(child.wait().signal == SIGTERM);
  CHECK(running("sleep 4711.1") == 0);
}

TEST_CASE("whoever ignores SIGTERM in a session of its own is found too") {
  const ScratchHome home;
  const std::string stubborn = "trap '' TERM; while :; do sleep 4711.2; done";
  const std::string script = "setsid sh -c \"" + stubborn + "\" & env -i setsid sh -c \"" +
                             stubborn + "\" & (" + stubborn + ") & sleep 4711.2";
  process::Child child = start(home, {"--", "sh", "-c", script});
  CHECK(eventually([] { return running("sleep 4711.2") == 4; }));
  const auto before = std::chrono::steady_clock::now();
  child.in() = UniqueFd();
  CHECK(child.wait_for(5s, nullptr).has_value());
  CHECK(std::chrono::steady_clock::now() - before < 4s);
  CHECK(running("sleep 4711.2") == 0);
}

TEST_CASE("a daemon that a command leaves behind when it ends well is left alone") {
  const ScratchHome home;
  process::Child child =
      start(home, {"--", "sh", "-c", "setsid sleep 4711.3 >/dev/null 2>&1 </dev/null &"});
  CHECK(child.wait().ok());
  CHECK(eventually([] { return running("sleep 4711.3") == 1; }));
  const Cancel never;
  process::capture({.argv = {"pkill", "-f", "sleep 4711.3"}}, {}, never);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
