#include "cli/workflows/node_scripts/tmux.hpp"

#include <doctest/doctest.h>

#include "base/quote.hpp"
#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;
using Words = std::vector<std::string>;

/// The script, in which quotes stand as they do for the node's /bin/sh.
std::string script(const Words& program, TmuxStart start) {
  const std::string command = tmux_command("work", program, start);
  const std::string begin = "exec /bin/sh -c '";
  REQUIRE(command.starts_with(begin));
  std::string inner = command.substr(begin.size(), command.size() - begin.size() - 1);
  for (std::size_t at = 0; (at = inner.find("'\\''", at)) != std::string::npos; ++at)
    inner.replace(at, 4, "'");
  return inner;
}

std::string last_line(const Words& program, TmuxStart start = TmuxStart::attached) {
  const std::string all = script(program, start);
  return all.substr(all.rfind('\n') + 1);
}

TEST_SUITE_BEGIN("cli/tmux_script");

TEST_CASE("a session is made, or gone to where it is there already") {
  CHECK(script({}, TmuxStart::attached) ==
        "command -v tmux >/dev/null || exit 127\nexec tmux new-session -A -s work");
}

TEST_CASE("with a program, or detached, a session that is there is left alone") {
  const std::string asks = "tmux has-session -t =work 2>/dev/null && exit 126\n";
  CHECK(script({}, TmuxStart::detached).find(asks) != std::string::npos);
  CHECK(script({"top", "-d", "1"}, TmuxStart::attached).find(asks) != std::string::npos);
  CHECK(last_line({}, TmuxStart::detached) == "exec tmux new-session -d -s work");
}

TEST_CASE("the words of a program are for no shell, and not for tmux") {
  CHECK(last_line({"top", "-d", "1"}) == "exec tmux new-session -A -s work -- top -d 1");
  CHECK(last_line({"top"}) == "exec tmux new-session -A -s work -- /bin/sh -c 'exec \"$0\"' top");
  CHECK(last_line({"find", ";"}) == "exec tmux new-session -A -s work -- find '\\;'");
  CHECK(last_line({"echo", "a;", "a\\;"}) ==
        "exec tmux new-session -A -s work -- echo 'a\\;' 'a\\\\;'");
}

TEST_CASE("a session's name is one that tmux leaves as it is") {
  for (const char* good : {"fastgpu", "0", "My_work-2"})
    check_session_name(good);
  for (const std::string& bad :
       Words{"", "-x", "a.b", "a:b", "=a", "a b", "$1", std::string(41, 'a')})
    CHECK(failure_of([&] { check_session_name(bad); }).kind() == ErrorKind::usage);
}

TEST_CASE("sessions are read, whatever their names, and what is none is passed over") {
  const auto sessions = parse_sessions(
      "1764031234 1 3 fastgpu\nno server running\n\n1764031235 0 1 my work \n1764031236 0 1\n");
  REQUIRE(sessions.size() == 2);
  CHECK(sessions[0].created == 1764031234);
  CHECK(sessions[0].clients == 1);
  CHECK(sessions[0].windows == 3);
  CHECK(sessions[0].name == "fastgpu");
  CHECK(sessions[1].name == "my work ");
}

TEST_CASE("a server that is not there has no sessions, and one that fails is told") {
  for (const char* none : {"no server running on /tmp/tmux-0/default\n", "no sessions\n",
                           "error connecting to /tmp/tmux-0/default (No such file or directory)\n"})
    CHECK(listing_failure(1, none).empty());
  CHECK(listing_failure(0, "").empty());
  CHECK(listing_failure(0, "a word of warning\n").empty());
  CHECK(listing_failure(1, "protocol version mismatch (client 8, server 7)\n") ==
        "tmux exited with 1: protocol version mismatch (client 8, server 7)");
  CHECK(listing_failure(1, "error connecting to /tmp/tmux-0/default (Permission denied)\n") ==
        "tmux exited with 1: error connecting to /tmp/tmux-0/default (Permission denied)");
  CHECK(listing_failure(1, "no server running on /tmp/x\nlost server\n").ends_with("lost server"));
  CHECK(listing_failure(139, "") == "tmux exited with 139");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
