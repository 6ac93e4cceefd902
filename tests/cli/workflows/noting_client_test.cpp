#include "cli/workflows/noting_client.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "fakes/fake_ssh.hpp"
#include "state/silence.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// Runs `true` on a host whose note is `note`; the host answers by `reply`.
void run_on(const fs::path& note, const fastgpu::test::FakeReply& reply,
            std::optional<milliseconds> limit = {}) {
  NotingClient client(std::make_unique<fastgpu::test::FakeSsh>(
                          [&](const fastgpu::test::FakeSsh::Seen&) { return reply; }),
                      milliseconds(10'000));
  ssh::Host host{.name = {"n1"}, .address = "10.0.0.1"};
  host.silence_note = note;
  ssh::RunOptions options;
  options.connect_timeout = limit;
  const Cancel cancel;
  client.run({{.host = host, .command = "true"}}, options, cancel);
}

fastgpu::test::FakeReply failure(ErrorKind kind) {
  return {.failure = Error(kind, "n1 (10.0.0.1:22): no connection within 10s")};
}

TEST_SUITE_BEGIN("cli/workflows/noting_client");

TEST_CASE("a host that cannot be reached is noted until it answers") {
  const fastgpu::test::TempDirectory directory;
  const fs::path note = directory.path() / "silent" / "n1";
  run_on(note, failure(ErrorKind::transient));
  const auto silence = state::find_silence(note);
  REQUIRE(silence);
  CHECK(silence->reason == "no connection within 10s");
  run_on(note, {.exit = {.status = 3}});
  CHECK(!state::find_silence(note));
}

TEST_CASE("other failures, and short attempts, say nothing about a host") {
  const fastgpu::test::TempDirectory directory;
  const fs::path note = directory.path() / "silent" / "n1";
  for (const ErrorKind kind : {ErrorKind::denied, ErrorKind::timeout, ErrorKind::interrupted})
    run_on(note, failure(kind));
  run_on(note, failure(ErrorKind::transient), milliseconds(2'000));
  CHECK(!state::find_silence(note));
  run_on({}, failure(ErrorKind::transient));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
