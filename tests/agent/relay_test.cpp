// A stream of files on its way through one node: what comes out of it, and what it does in silence.
#include <doctest/doctest.h>

#include "support/agent_process.hpp"
#include "transfer/failure_status.hpp"
#include "transfer/record.hpp"

namespace fastgpu {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::read_text;
using test::run_agent;
using test::ScratchHome;
using test::write_file;

TEST_SUITE_BEGIN("agent/relay");

TEST_CASE("a stream that is asked for can be received elsewhere") {
  const ScratchHome home;
  write_file(home.path() / "from/lib/a", "content");
  const auto out = run_agent(home, {"relay", "--from", "from", "--to", "from", "--out"});
  REQUIRE_MESSAGE(out.status.ok(), out.err);
  const auto done = run_agent(home, {"relay", "--to", "there"}, out.out);
  CHECK_MESSAGE(done.status.ok(), done.err);
  CHECK(read_text(home.path() / "there/lib/a") == "content");
}

TEST_CASE("who hears nothing for too long takes the stream for one that was cut off") {
  const ScratchHome home;
  process::Command command =
      test::agent_command(home, {"relay", "--to", "there", "--silence", "100ms"});
  command.in.mode = process::StreamMode::pipe;
  command.err.mode = process::StreamMode::null;
  process::Child relay(command);  // Its standard input stays open.
  const auto status = relay.wait_for(20s, nullptr);
  REQUIRE(status.has_value());
  CHECK(status->shell_code() == transfer::failure_status(ErrorKind::transient));
  CHECK(!fs::exists(home.path() / "there"));
}

TEST_CASE("a sender that has nothing to give just now says so, which changes nothing") {
  const ScratchHome home;
  write_file(home.path() / "from/a", "content");
  const auto out = run_agent(home, {"relay", "--from", "from", "--to", "from", "--out"});
  std::string alive;
  encode(alive, transfer::AliveRecord{});
  const auto done = run_agent(home, {"relay", "--to", "there"}, alive + alive + out.out);
  CHECK_MESSAGE(done.status.ok(), done.err);
  CHECK(read_text(home.path() / "there/a") == "content");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
