#include "ssh/interactive.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/eventfd.h>

#include <array>
#include <utility>

#include "base/files.hpp"
#include "base/pipe.hpp"
#include "support/failure.hpp"
#include "support/sshd_fixture.hpp"

namespace fastgpu {
namespace {

using ssh::Exit;

/// Our side of a session, as three files and a pipe.
class Side {
 public:
  Side() {
    out_ = create("out");
    err_ = create("err");
  }

  ssh::InteractiveOptions options(const std::string& command) const {
    return {.command = command, .in = keys_.read_end.get(), .out = out_.get(), .err = err_.get()};
  }
  void type(std::string_view text) const { write_all(keys_.write_end.get(), text, "typing"); }
  void end_input() { const UniqueFd gone = std::move(keys_.write_end); }
  std::string out() const { return test::read_file(dir_.path() / "out"); }
  std::string err() const { return test::read_file(dir_.path() / "err"); }

 private:
  UniqueFd create(const char* name) const {
    return UniqueFd(::open((dir_.path() / name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  }

  test::TempDirectory dir_;
  Pipe keys_ = make_pipe();
  UniqueFd out_;
  UniqueFd err_;
};

Exit run(const test::Sshd& sshd, const ssh::InteractiveOptions& options) {
  const Cancel cancel;
  return ssh::run_interactive(sshd.host("a"), options, cancel);
}

bool wait_for(const Side& side, const std::string& text) {
  for (int i = 0; i < 500; ++i) {
    if (side.out().find(text) != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST_SUITE_BEGIN("integration/ssh/interactive");

TEST_CASE(
    "without a terminal bytes go through unchanged, outputs apart, and the exit code comes back") {
  const test::Sshd sshd;
  Side side;
  std::string sent;
  for (int i = 0; i < 50'000; ++i)
    sent += static_cast<char>(i);
  side.type(sent);
  side.end_input();
  const Exit exit = run(sshd, side.options("cat; echo err >&2; exit 3"));
  CHECK(exit.code() == 3);
  CHECK(side.out() == sent);
  CHECK(side.err() == "err\n");
}

TEST_CASE("with a terminal the far end knows its type and size, and hears of a new size") {
  const test::Sshd sshd;
  Side side;
  const UniqueFd resized(::eventfd(0, EFD_NONBLOCK));
  ssh::InteractiveOptions options = side.options(
      "trap 'stty size; exit 3' WINCH; tty >/dev/null && echo $TERM; stty size; "
      "echo ready; while :; do sleep 0.05; done");
  ssh::WindowSize size{101, 37};
  options.terminal = {.type = "xterm-test"};
  options.window_size = [&] { return size; };
  options.resize_fd = resized.get();
  std::thread resizer([&] {
    if (!wait_for(side, "ready")) return;
    size = {99, 22};
    const std::uint64_t one = 1;
    CHECK(::write(resized.get(), &one, sizeof one) == sizeof one);
  });
  const Exit exit = run(sshd, options);
  resizer.join();
  CHECK(exit.code() == 3);
  CHECK(side.out() == "xterm-test\r\n37 101\r\nready\r\n22 99\r\n");
}

TEST_CASE("an interrupt character typed at a terminal ends the program with its signal") {
  const test::Sshd sshd;
  Side side;
  ssh::InteractiveOptions options = side.options("echo ready; exec sleep 100");
  options.terminal.emplace();
  std::thread typist([&] {
    if (wait_for(side, "ready")) side.type("\x03");
  });
  const Exit exit = run(sshd, options);
  typist.join();
  CHECK(exit.signal == "INT");
  CHECK(exit.code() == 130);
}

TEST_CASE("endless output leaves room for the key that ends it") {
  const test::Sshd sshd;
  Side side;
  Pipe screen = make_pipe();
  ssh::InteractiveOptions options = side.options("exec yes");
  options.terminal.emplace();
  options.out = screen.write_end.get();
  std::thread reader([&] {
    std::array<char, 65536> bytes;
    bool typed = false;
    while (::read(screen.read_end.get(), bytes.data(), bytes.size()) > 0)
      if (!std::exchange(typed, true)) side.type("\x03");
  });
  const Exit exit = run(sshd, options);
  { const UniqueFd gone = std::move(screen.write_end); }
  reader.join();
  CHECK(exit.code() == 130);
}

TEST_CASE("a tilde and a dot at the start of a line leave a node that hangs") {
  const test::Sshd sshd;
  Side side;
  // The sshd of this session stands still for two seconds; nothing that is typed is taken.
  ssh::InteractiveOptions options = side.options(
      "(sleep 2; kill -CONT $PPID) & kill -STOP $PPID; touch \"$HOME/stopped\"; sleep 5");
  options.terminal.emplace();
  const std::string typed = std::string(60'000, 'x') + "\r~.";
  std::thread typist([&] {
    for (int i = 0; i < 500 && !std::filesystem::exists(sshd.home() / "stopped"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    side.type(typed);
  });
  const auto begin = std::chrono::steady_clock::now();
  const Error e = test::failure_of([&] { run(sshd, options); });
  typist.join();
  CHECK(e.kind() == ErrorKind::interrupted);
  CHECK(std::string(e.what()).find("left with ~.") != std::string::npos);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(1500));
}

TEST_CASE("without a command the login shell reads what we send") {
  const test::Sshd sshd;
  Side side;
  side.type("echo $((6*7))\nexit 9\n");
  side.end_input();
  const Exit exit = run(sshd, side.options(""));
  CHECK(exit.code() == 9);
  CHECK(side.out().find("42\n") != std::string::npos);
}

TEST_CASE("a cancel ends the session as interrupted") {
  const test::Sshd sshd;
  const Side side;
  Cancel cancel;
  std::thread stopper([&] {
    if (wait_for(side, "ready")) cancel.request();
  });
  CHECK_THROWS_AS(
      ssh::run_interactive(sshd.host("a"), side.options("echo ready; sleep 100"), cancel), Error);
  stopper.join();
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
