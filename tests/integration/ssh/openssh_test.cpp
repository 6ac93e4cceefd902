// OpenSSH's client in the place of libssh2: the same promises, against real sshds.
#include <doctest/doctest.h>
#include <fcntl.h>

#include "integration/ssh/run_one.hpp"
#include "ssh/first_contact.hpp"
#include "ssh/interactive.hpp"
#include "ssh/ssh_client.hpp"
#include "support/failure.hpp"
#include "support/sshd_fixture.hpp"

namespace fastgpu {
namespace {

using namespace std::chrono_literals;
using ssh::Host;
using ssh::Task;
using test::Captured;
using test::run_one;
using test::task_on;

/// libssh2 1.10 has none of them.
constexpr const char* kHardened =
    "MACs hmac-sha2-512-etm@openssh.com,hmac-sha2-256-etm@openssh.com\n"
    "Ciphers aes256-ctr\n";

Host by_client(Host host) {
  host.openssh = ssh::OpenSsh{};
  return host;
}

TEST_SUITE_BEGIN("integration/ssh/openssh");

TEST_CASE(
    "a host without an algorithm of libssh2's is refused by libssh2 and reached by the client") {
  const test::Sshd sshd(kHardened);
  Captured captured;
  const auto refused = run_one(task_on(sshd.host("a"), "true", captured));
  REQUIRE(!refused.ok());
  CHECK(refused.error().kind() == ErrorKind::denied);
  CHECK(
      test::mentions(refused.error(), "no common algorithms: MAC: the host has hmac-sha2-512-etm"));
  const auto result =
      run_one(task_on(by_client(sshd.host("a")), "echo out; echo err >&2; exit 3", captured));
  REQUIRE_MESSAGE(result.ok(), result.error().what());
  CHECK(result.value().code() == 3);
  CHECK(captured.out == "out\n");
  CHECK(captured.err == "err\n");
}

TEST_CASE("by the client the status of a command is its own, whatever it is") {
  const test::Sshd sshd;
  for (const auto& [command, code] : {std::pair{"exit 0", 0}, std::pair{"exit 255", 255},
                                      std::pair{"kill -9 $$", 137}, std::pair{"exec false", 1}}) {
    CAPTURE(command);
    Captured captured;
    const auto result = run_one(task_on(by_client(sshd.host("a")), command, captured));
    REQUIRE_MESSAGE(result.ok(), result.error().what());
    CHECK(result.value().code() == code);
    const bool is_killed = code == 137;  // The login shell reports that.
    CHECK((is_killed || captured.err.empty()));
  }
}

TEST_CASE("by the client input of any bytes arrives unchanged and complete") {
  const test::Sshd sshd;
  test::check_that_any_bytes_arrive(by_client(sshd.host("a")), 3'000'000);
}

TEST_CASE("by the client a command that only reads gets all its input") {
  const test::Sshd sshd;
  Captured captured;
  Task task = task_on(by_client(sshd.host("a")), "sleep 1; wc -c", captured);
  int pieces = 50;
  task.next_input = [&]() -> std::optional<std::string> {
    if (pieces-- == 0) return std::nullopt;
    return std::string(100'000, 'x');
  };
  const auto result = run_one(std::move(task), {.timeout = 30s});
  REQUIRE_MESSAGE(result.ok(), result.error().what());
  CHECK(captured.out == "5000000\n");
}

TEST_CASE("by the client a command that reads none of its input ends all the same") {
  const test::Sshd sshd;
  test::check_that_unread_input_holds_up_nothing(by_client(sshd.host("a")));
}

TEST_CASE("by the client a cancel closes the input of a supervisor, which ends what it started") {
  const test::Sshd sshd;
  Captured captured;
  Cancel cancel;
  Task task = task_on(by_client(sshd.host("a")),
                      "echo begun; cat; echo ended > $HOME/ended; exit 9", captured);
  task.on_stdout = [&](std::string_view) { cancel.request(); };
  task.hold_input_open = true;
  ssh::SshClient client;
  const auto result = client.run({std::move(task)}, {}, cancel).at(0);
  REQUIRE(!result.ok());
  CHECK(result.error().kind() == ErrorKind::interrupted);
  CHECK(test::read_file(sshd.home() / "ended") == "ended\n");
}

TEST_CASE("by the client a command without an end is given up after its time") {
  const test::Sshd sshd;
  Captured captured;
  const auto result = run_one(task_on(by_client(sshd.host("a")), "sleep 600", captured),
                              {.timeout = 3s, .grace = 100ms});
  REQUIRE(!result.ok());
  CHECK(result.error().kind() == ErrorKind::timeout);
}

TEST_CASE("the client goes on with none but the known key") {
  const test::Sshd sshd;
  Host host = by_client(sshd.host("a"));
  host.host_keys = {ssh::generate_key_pair("other").public_key};
  Captured captured;
  const auto result = run_one(task_on(host, "true", captured));
  REQUIRE(!result.ok());
  CHECK(result.error().kind() == ErrorKind::denied);
  CHECK(test::mentions(result.error(), "its host key is not one of the known keys"));
  host.host_keys.clear();
  CHECK(run_one(task_on(host, "true", captured)).error().kind() == ErrorKind::denied);
}

TEST_CASE("what keeps the client out has its kind and its words") {
  const test::Sshd sshd;
  Captured captured;
  Host host = by_client(sshd.host("a"));
  test::write_file(sshd.directory() / "authorized_keys", "", std::filesystem::perms::owner_read);
  const auto refused = run_one(task_on(host, "true", captured));
  REQUIRE(!refused.ok());
  CHECK(refused.error().kind() == ErrorKind::denied);
  CHECK(test::mentions(refused.error(), "login as " + host.user + " with the key "));
  host.port = test::free_port();
  const auto closed = run_one(task_on(host, "true", captured));
  REQUIRE(!closed.ok());
  CHECK(closed.error().kind() == ErrorKind::transient);
  CHECK(test::mentions(closed.error(), "onnection refused"));
}

TEST_CASE("the client goes through jump hosts with their own ports and keys") {
  const test::Sshd gate;
  const test::Sshd sshd(kHardened);
  Host host = by_client(sshd.host("inner"));
  host.jumps = {gate.host("gate")};
  Captured captured;
  const auto result = run_one(task_on(host, "echo in", captured));
  REQUIRE_MESSAGE(result.ok(), result.error().what());
  CHECK(captured.out == "in\n");
  host.jumps[0].host_keys = {ssh::generate_key_pair("other").public_key};
  CHECK(!run_one(task_on(host, "echo in", captured)).ok());
}

TEST_CASE("a connection that breaks under a command is lost, and not the command's status") {
  const test::Sshd sshd;
  Captured captured;
  const auto result = run_one(task_on(
      by_client(sshd.host("a")),
      "p=$$; until [ \"$(ps -o comm= -p $p)\" = sshd ]; do p=$(ps -o ppid= -p $p | tr -d ' '); "
      "done; kill -9 $p; sleep 60",
      captured));
  REQUIRE(!result.ok());
  CHECK(result.error().kind() == ErrorKind::transient);
  CHECK(test::mentions(result.error(), "connection lost"));
}

TEST_CASE("the client asks a host for its key without logging in") {
  const test::Sshd sshd(kHardened);
  Host host = by_client(sshd.host("a"));
  host.host_keys.clear();
  host.identity = "/nowhere";
  const Cancel cancel;
  const auto keys = ssh::learn_host_keys(host, 10s, cancel);
  CHECK(keys == std::vector{sshd.host_key()});
}

TEST_CASE("an interactive session goes by the client, too") {
  const test::Sshd sshd(kHardened);
  const test::TempDirectory place;
  const UniqueFd out(::open((place.path() / "out").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const UniqueFd none(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const Cancel cancel;
  const ssh::InteractiveOptions options{
      .command = "echo here; exit 4", .in = none.get(), .out = out.get(), .err = out.get()};
  CHECK(ssh::run_interactive(by_client(sshd.host("a")), options, cancel).code() == 4);
  CHECK(test::read_file(place.path() / "out") == "here\n");
  Host host = by_client(sshd.host("a"));
  host.host_keys = {ssh::generate_key_pair("other").public_key};
  CHECK(test::failure_of([&] { ssh::run_interactive(host, options, cancel); }).kind() ==
        ErrorKind::denied);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
