#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "process/capture.hpp"
#include "process/child.hpp"
#include "process/interpreter.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::process {
namespace {

using namespace std::chrono_literals;
using test::failure_of;

Command shell(const std::string& script) {
  return {.argv = {"sh", "-c", script}};
}

Captured run(const Command& command, const CaptureOptions& options = {}) {
  const Cancel never;
  return capture(command, options, never);
}

bool is_running(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

TEST_SUITE_BEGIN("process");

TEST_CASE("what a command writes and how it ends are kept apart") {
  const Captured got = run(shell("echo out; echo err >&2; exit 3"));
  CHECK(got.out == "out\n");
  CHECK(got.err == "err\n");
  CHECK(got.status == ExitStatus{.code = 3, .signal = 0});
  CHECK(describe(got.status) == "exited with 3");
}

TEST_CASE("a command ended by a signal says which") {
  const Captured got = run(shell("kill -SEGV $$"));
  CHECK(got.status.signal == SIGSEGV);
  CHECK(got.status.shell_code() == 139);
  CHECK(describe(got.status) == "killed by SIGSEGV");
}

TEST_CASE("arguments arrive unchanged, whatever is in them") {
  const std::string odd = "a b'\"$HOME;`id`\n\xff\xc3\xa4*";
  CHECK(run({.argv = {"printf", "%s|%s", odd, ""}}).out == odd + "|");
}

TEST_CASE("a program that is not there is named") {
  const Error e = failure_of([] { run({.argv = {"no-such-program-here"}}); });
  CHECK(e.kind() == ErrorKind::not_found);
  CHECK(std::string(e.what()) == "no-such-program-here: No such file or directory");
  CHECK(failure_of([] { run({.argv = {"/proc/no-such"}}); }).kind() == ErrorKind::not_found);
  CHECK(failure_of([] { run({.argv = {"/etc"}}); }).kind() == ErrorKind::denied);
  CHECK(failure_of([] { run({.argv = {}}); }).kind() == ErrorKind::usage);
}

TEST_CASE("a script whose interpreter is not there names it") {
  const test::TempDirectory directory;
  const auto script = directory.path() / "train";
  const auto failure_with = [&](const std::string& text) {
    std::ofstream(script) << text;
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    const Error e = failure_of([&] { run({.argv = {script.string()}}); });
    CHECK(e.kind() == ErrorKind::not_found);
    return std::string(e.what()).substr(script.string().size());
  };
  CHECK(failure_with("#! /nonexistent -u\nx\n") ==
        ": its interpreter /nonexistent (in its first line) does not exist");
  CHECK(failure_with("#!/bin/sh\r\n").find("/bin/sh\\") != std::string::npos);
  Command command;
  command.argv = {"./train"};
  command.directory = directory.path();
  CHECK(std::string(failure_of([&] { run(command); }).what()).find("its interpreter") !=
        std::string::npos);
}

TEST_CASE("an interpreter that env does not find in PATH is named before it is started") {
  const test::TempDirectory directory;
  const auto script = directory.path() / "train";
  const auto why = [&](const std::string& text) {
    std::ofstream(script) << text;
    return missing_interpreter(script, "/usr/bin:/bin");
  };
  for (const char* good : {"", "x", "#!", "#!/bin/sh\n", "#!/usr/bin/env sh\n",
                           "#! /usr/bin/env  sh \n", "#!/usr/bin/env -S sh -e\n",
                           "#!/usr/bin/env -i nosuch\n", "#!/usr/bin/env A=1 nosuch\n", "#!sh\n"})
    CHECK_MESSAGE(why(good).empty(), good);
  CHECK(why("#!/usr/bin/env nosuch\n") ==
        "its interpreter 'nosuch', which /usr/bin/env looks for (in its first line), is not in "
        "PATH");
  CHECK(why("#!/usr/bin/env sh -e\n").ends_with("several words need /usr/bin/env -S"));
  for (const char* windows : {"#!/usr/bin/env sh\r\n", "#!/bin/sh\r\n"})
    CHECK(why(windows).find("ends with a carriage return") != std::string::npos);
  std::ofstream(script) << "#!/usr/bin/env nosuch\n";
  for (const char* path : {"", "bin:/usr/bin", "/usr/bin:"})
    CHECK(missing_interpreter(script, path).empty());
  CHECK(why("#!/no/such\n") == "its interpreter /no/such (in its first line) does not exist");
}

TEST_CASE("a working directory that is not there is named") {
  Command command = shell("pwd");
  command.directory = "/proc/no/such/place";
  const Error e = failure_of([&] { run(command); });
  CHECK(e.kind() == ErrorKind::not_found);
  CHECK(std::string(e.what()).find("working directory /proc/no/such/place") == 0);
}

TEST_CASE("directory and environment are what was asked for") {
  Command command = shell("pwd; echo \"$A-$HOME\"");
  command.directory = "/usr";
  command.environment = std::vector<std::string>{"A=1 2", "PATH=/usr/bin:/bin"};
  CHECK(run(command).out == "/usr\n1 2-\n");
}

TEST_CASE("input reaches the command and then ends") {
  CaptureOptions options;
  options.input = std::string(300'000, 'x');
  CHECK(run({.argv = {"cat"}}, options).out == options.input);
}

TEST_CASE("a command that does not read its input does no harm") {
  CaptureOptions options;
  options.input = std::string(1 << 20, 'x');
  CHECK(run(shell("exit 0"), options).status.ok());
}

TEST_CASE("output beyond the limit is dropped and said so") {
  CaptureOptions options;
  options.limit = Bytes{10};
  const Captured got = run(shell("printf 0123456789abc"), options);
  CHECK(got.out == "0123456789");
  CHECK(got.truncated);
}

TEST_CASE("a command that runs too long is ended with its children") {
  CaptureOptions options;
  options.timeout = 100ms;
  CHECK(failure_of([&] { run(shell("sleep 60 & sleep 60"), options); }).kind() ==
        ErrorKind::timeout);
}

TEST_CASE("a cancel ends the wait") {
  Cancel cancel;
  std::jthread later([&] { cancel.request(); });
  CHECK(failure_of([&] { capture(shell("sleep 60"), {}, cancel); }).kind() ==
        ErrorKind::interrupted);
}

TEST_CASE("a program gets its three streams and no other descriptor") {
  const UniqueFd open(::open("/dev/null", O_RDONLY));  // As a library opens files.
  CHECK(open);
  const Captured seen = run({.argv = {"ls", "/proc/self/fd"}});
  CHECK(seen.out == "0\n1\n2\n3\n");  // The last one is that of ls for the directory.
}

TEST_CASE("a child does not outlive its owner") {
  pid_t pid = -1;
  {
    Child child({.argv = {"sleep", "60"}});
    pid = child.pid();
    CHECK(is_running(pid));
  }
  CHECK_FALSE(is_running(pid));
}

TEST_CASE("a moved child is owned once") {
  Child first({.argv = {"sleep", "60"}});
  Child second(std::move(first));
  CHECK_FALSE(second.poll().has_value());
  second.signal(SIGTERM);
  CHECK(second.wait().signal == SIGTERM);
  CHECK(second.wait().signal == SIGTERM);
}

/// A program that says how often a signal that queues has reached it.
constexpr const char* kCounting =
    "import signal\n"
    "wanted = {signal.SIGRTMIN}\n"
    "signal.pthread_sigmask(signal.SIG_BLOCK, wanted)\n"
    "print('r', end='', flush=True)\n"
    "signal.sigwait(wanted)\n"
    "count = 1\n"
    "while signal.sigtimedwait(wanted, 0.2):\n"
    "    count += 1\n"
    "print(count, end='')\n";

TEST_CASE("a signal reaches a child once, in whatever group it is") {
  for (const Grouping grouping : {Grouping::shared, Grouping::group, Grouping::session}) {
    Command command{.argv = {"python3", "-c", kCounting}};
    command.grouping = grouping;
    command.out = {.mode = StreamMode::pipe};
    Child child(command);
    char text = 0;
    REQUIRE(::read(child.out().get(), &text, 1) == 1);
    child.signal(SIGRTMIN);
    REQUIRE(::read(child.out().get(), &text, 1) == 1);
    CHECK(text == '1');
    CHECK(child.wait().ok());
  }
}

TEST_CASE("a signal reaches a child that has left its group, too") {
  Command command = shell(
      "exec python3 -c 'import os, time; os.setpgid(0, os.getpgid(os.getppid()));"
      "print(end=\"r\", flush=True); time.sleep(60)'");
  command.grouping = Grouping::group;
  command.out = {.mode = StreamMode::pipe};
  Child child(command);
  char text = 0;
  REQUIRE(::read(child.out().get(), &text, 1) == 1);
  child.signal(SIGTERM);
  CHECK(child.wait().signal == SIGTERM);
}

TEST_CASE("a session of its own is one") {
  Command command = shell("ps -o sid= -p $$ | tr -d ' '");
  command.grouping = Grouping::session;
  command.out = {.mode = StreamMode::pipe};
  Child child(command);
  char text[32] = {};
  const auto got = ::read(child.out().get(), text, sizeof text - 1);
  CHECK(got > 0);
  CHECK(std::stoi(text) == child.pid());
  CHECK(child.wait().ok());
}

TEST_CASE("setting a variable replaces the earlier value only") {
  std::vector<std::string> environment = {"A=1", "AB=2"};
  set_variable(environment, "A=x=y");
  CHECK(variable(environment, "A") == "x=y");
  CHECK(variable(environment, "AB") == "2");
  CHECK_FALSE(variable(environment, "B"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::process
