#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>

#include <thread>

#include "base/files.hpp"
#include "support/agent_process.hpp"
#include "transfer/input_frames.hpp"

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
  return read_to_end(from.get(), "reading from the agent");
}

/// The agent may have ended by now.
void send(process::Child& child, std::string_view bytes) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  while (!bytes.empty()) {
    const ssize_t put = ::write(child.in().get(), bytes.data(), bytes.size());
    if (put <= 0) break;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  ::signal(SIGPIPE, before);
}

std::string variables(const std::vector<std::string>& assignments) {
  return transfer::to_text({.kind = transfer::InputKind::variables},
                           transfer::encode_variables(assignments));
}

std::string data(const std::string& bytes) {
  return transfer::to_text({.kind = transfer::InputKind::data}, bytes);
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
  CHECK(start(home, {"--env", "X=1", "--", "true"}).wait().code == 2);
}

TEST_CASE("arguments and variables arrive unchanged") {
  const ScratchHome home;
  const std::string odd = "a b'\"$HOME;`id`\n\xc3\xa4*";
  process::Child child =
      start(home, {"--variables", "--", "sh", "-c", "printf '%s|%s' \"$V\" \"$1\"", "x", odd});
  send(child, variables({"V=" + odd, "PATH=" + std::string(::getenv("PATH"))}));
  CHECK(read_all(child.out()) == odd + "|" + odd);
}

TEST_CASE("variables are in no argument list, and without them nothing starts") {
  const ScratchHome home;
  process::Child child =
      start(home, {"--variables", "--", "sh", "-c", "echo ran; cat /proc/*/cmdline"});
  send(child, variables({"TOKEN=value-4711"}));
  const std::string seen = read_all(child.out());
  CHECK(seen.starts_with("ran\n"));
  CHECK(seen.find("value-4711") == std::string::npos);
  process::Child lost = start(home, {"--variables", "--", "echo", "ran"});
  lost.in() = UniqueFd();
  CHECK(read_all(lost.out()).empty());
  CHECK(lost.wait().code == 1);
  process::Child odd = start(home, {"--variables", "--", "echo", "ran"});
  send(odd, std::string(100, 'x'));
  CHECK(read_all(odd.out()).empty());
  CHECK(odd.wait().code == 1);
}

TEST_CASE("standard input arrives byte for byte, and so does its end") {
  const ScratchHome home;
  const std::string bytes = std::string("a\0b\xff\n", 5) + std::string(3'000'000, 'x');
  process::Child child = start(home, {"--variables", "--input", "--", "sh", "-c", "cat; echo $A"});
  std::string said;
  std::jthread reader([&] { said = read_all(child.out()); });
  send(child, variables({"A=end"}));
  for (std::size_t at = 0; at < bytes.size(); at += 200'000)
    send(child, data(bytes.substr(at, 200'000)));
  send(child, transfer::to_text({.kind = transfer::InputKind::end}, ""));
  reader.join();
  CHECK(said == bytes + "end\n");
  CHECK(child.wait().ok());
}

TEST_CASE("a program that does not read its input is still ended with the connection") {
  const ScratchHome home;
  process::Child child = start(home, {"--input", "--", "sleep", "4711.4"});
  CHECK(eventually([] { return running("sleep 4711.4") == 1; }));
  ::fcntl(child.in().get(), F_SETFL, O_NONBLOCK);
  const std::string piece = data(std::string(100'000, 'x'));
  std::size_t sent = 0;  // Until the pipes and the agent are full.
  for (int idle = 0; idle < 20;) {
    const std::string_view rest = std::string_view(piece).substr(sent % piece.size());
    const ssize_t put = ::write(child.in().get(), rest.data(), rest.size());
    if (put > 0) sent += static_cast<std::size_t>(put);
    idle = put > 0 ? 0 : idle + 1;
    if (put <= 0) std::this_thread::sleep_for(10ms);
  }
  CHECK(sent < 2'000'000);
  child.in() = UniqueFd();
  CHECK(child.wait_for(10s, nullptr).has_value());
  CHECK(running("sleep 4711.4") == 0);
}

TEST_CASE("a program that ends before its input does ends as it would") {
  const ScratchHome home;
  process::Child child = start(home, {"--input", "--", "sh", "-c", "exec <&-; read x; exit 3"});
  for (int i = 0; i < 5; ++i)
    send(child, data(std::string(100'000, 'x')));
  CHECK(child.wait().code == 3);
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
