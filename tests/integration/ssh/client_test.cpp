#include <doctest/doctest.h>

#include <deque>
#include <thread>
#include <utility>

#include "integration/ssh/run_one.hpp"
#include "ssh/scan.hpp"
#include "ssh/ssh_client.hpp"
#include "support/sshd_fixture.hpp"

namespace fastgpu {
namespace {

using namespace std::chrono_literals;
using ssh::Host;
using ssh::Task;
using test::Captured;
using test::run_one;
using test::task_on;

TEST_SUITE_BEGIN("integration/ssh/client");

TEST_CASE("output, error output and the exit status come back") {
  const test::Sshd sshd;
  Captured captured;
  const auto result = run_one(task_on(sshd.host("a"), "echo out; echo err >&2; exit 3", captured));
  REQUIRE_MESSAGE(result.ok(), result.error().what());
  CHECK(result.value().status == 3);
  CHECK(result.value().code() == 3);
  CHECK(captured.out == "out\n");
  CHECK(captured.err == "err\n");
}

TEST_CASE("a signal that ends the command is named") {
  const test::Sshd sshd;
  Captured captured;
  const auto result = run_one(task_on(sshd.host("a"), "kill -9 $$", captured));
  REQUIRE_MESSAGE(result.ok(), result.error().what());
  CHECK(result.value().signal == "KILL");
  CHECK(result.value().code() == 137);
}

TEST_CASE("no tasks give no results") {
  ssh::SshClient client;
  const Cancel cancel;
  CHECK(client.run({}, {}, cancel).empty());
}

TEST_CASE("a run that is cancelled before it begins ends at once") {
  ssh::SshClient client;
  Cancel cancel;
  cancel.request();
  const Host nobody{.name = NodeName{"a"}, .address = "127.0.0.1", .port = 1};
  const auto results = client.run({{.host = nobody, .command = "true"}}, {}, cancel);
  CHECK(results.at(0).error().kind() == ErrorKind::interrupted);
}

TEST_CASE("input of any bytes arrives unchanged and complete") {
  const test::Sshd sshd;
  test::check_that_any_bytes_arrive(sshd.host("a"), 5'000'000);
}

TEST_CASE("a command that reads none of its input ends all the same") {
  const test::Sshd sshd;
  test::check_that_unread_input_holds_up_nothing(sshd.host("a"));
}

TEST_CASE("eight hosts answer in the order of the tasks") {
  std::deque<test::Sshd> sshds(8);
  std::vector<Captured> captured(8);
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < 8; ++i)
    tasks.push_back(
        task_on(sshds[i].host("n" + std::to_string(i)), "echo " + std::to_string(i), captured[i]));
  ssh::SshClient client;
  const Cancel cancel;
  const auto results = client.run(std::move(tasks), {}, cancel);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(results[i].host.value == "n" + std::to_string(i));
    CHECK(results[i].ok());
    CHECK(captured[i].out == std::to_string(i) + "\n");
  }
}

/// By which connection the host was reached: "127.0.0.1 41234 127.0.0.1 2222".
std::string way_to(ssh::Client& client, const Host& host, const ssh::RunOptions& options,
                   const std::string& command = "true") {
  Captured captured;
  const Cancel cancel;
  const auto results =
      client.run({task_on(host, command + "; echo $SSH_CONNECTION", captured)}, options, cancel);
  REQUIRE_MESSAGE(results.at(0).ok(), results.at(0).error().what());
  return captured.out;
}

TEST_CASE("connections are kept for a further run where that is wished, and only there") {
  const test::Sshd sshd;
  const Host host = sshd.host("a");
  ssh::SshClient client;
  const std::string first = way_to(client, host, {.keeps_connections = true});
  CHECK(way_to(client, host, {.keeps_connections = true}) == first);
  CHECK(way_to(client, host, {}) == first);
  const std::string second = way_to(client, host, {});
  CHECK(second != first);
  CHECK(way_to(client, host, {}) != second);
}

TEST_CASE("the connection of a command that ends after a cancel is kept") {
  const test::Sshd sshd;
  const Host host = sshd.host("a");
  ssh::SshClient client;
  Captured captured;
  Task task = task_on(host, "echo $SSH_CONNECTION; cat", captured);
  task.hold_input_open = true;
  Cancel cancel;
  const auto take = task.on_stdout;
  task.on_stdout = [&](std::string_view bytes) {
    take(bytes);
    cancel.request();
  };
  const auto results = client.run({std::move(task)}, {.keeps_connections = true}, cancel);
  CHECK(results.at(0).error().kind() == ErrorKind::interrupted);
  CHECK(way_to(client, host, {}) == captured.out);
}

TEST_CASE("a connection that was kept serves nobody who would have made another") {
  const test::Sshd sshd;
  const test::Sshd other;
  ssh::SshClient client;
  const std::string first = way_to(client, sshd.host("a"), {.keeps_connections = true});
  Host impostor = sshd.host("a");
  impostor.host_keys = other.host("a").host_keys;
  const Cancel cancel;
  const auto results = client.run({{.host = impostor, .command = "true"}}, {}, cancel);
  CHECK(results.at(0).error().kind() == ErrorKind::denied);
  CHECK(way_to(client, sshd.host("a"), {}) == first);
}

TEST_CASE("where a connection that was kept has died, another one is made") {
  const test::Sshd sshd;
  const Host host = sshd.host("a");
  ssh::SshClient client;
  const std::string first = way_to(client, host, {.keeps_connections = true},
                                   "(sleep 0.2; kill -9 $PPID) >/dev/null 2>&1 </dev/null & true");
  CHECK(first.size() > 10);
  std::this_thread::sleep_for(600ms);
  CHECK(way_to(client, host, {}) != first);
}

TEST_CASE("a run over a kept connection ends with its own command's status and output") {
  const test::Sshd sshd;
  ssh::SshClient client;
  const Cancel cancel;
  for (int i = 0; i < 20; ++i) {
    Captured captured;
    Task task = task_on(sshd.host("a"), "cat; exit " + std::to_string(i), captured);
    task.next_input = [sent = false]() mutable -> std::optional<std::string> {
      return std::exchange(sent, true) ? std::nullopt : std::optional(std::string(300'000, 'x'));
    };
    const auto results = client.run({std::move(task)}, {.keeps_connections = true}, cancel);
    REQUIRE_MESSAGE(results.at(0).ok(), results.at(0).error().what());
    CHECK(results.at(0).value().status == i);
    CHECK(captured.out.size() == 300'000);
  }
}

TEST_CASE("200 tasks on one sshd all end well") {
  const test::Sshd sshd("MaxStartups 300");
  std::vector<Task> tasks;
  for (int i = 0; i < 200; ++i)
    tasks.push_back({.host = sshd.host("a"), .command = "exit 4"});
  ssh::SshClient client;
  const Cancel cancel;
  const auto results = client.run(std::move(tasks), {.width = 32}, cancel);
  for (const auto& result : results) {
    REQUIRE_MESSAGE(result.ok(), result.error().what());
    CHECK(result.value().code() == 4);
  }
}

TEST_CASE("a wrong host key is refused before we log in, with both fingerprints") {
  const test::Sshd sshd("LogLevel VERBOSE");
  Host host = sshd.host("a");
  host.host_keys = {ssh::generate_key_pair("other").public_key};
  Captured captured;
  const auto result = run_one(task_on(host, "true", captured));
  REQUIRE(!result.ok());
  CHECK(result.error().kind() == ErrorKind::denied);
  const std::string message = result.error().what();
  CHECK(message.find(ssh::fingerprint(sshd.host_key())) != message.npos);
  CHECK(message.find(ssh::fingerprint(host.host_keys[0])) != message.npos);
  CHECK(sshd.log().find("Accepted") == std::string::npos);
}

TEST_CASE("a host of which no key is known is refused") {
  const test::Sshd sshd;
  Host host = sshd.host("a");
  host.host_keys.clear();
  Captured captured;
  const auto result = run_one(task_on(host, "true", captured));
  REQUIRE(!result.ok());
  CHECK(result.error().kind() == ErrorKind::denied);
}

TEST_CASE("a key that the host does not accept is denied") {
  const test::Sshd sshd;
  Host host = sshd.host("a");
  test::write_file(sshd.directory() / "other", ssh::generate_key_pair("x").private_key.reveal(),
                   std::filesystem::perms::owner_read);
  host.identity = sshd.directory() / "other";
  Captured captured;
  const auto result = run_one(task_on(host, "true", captured));
  REQUIRE(!result.ok());
  CHECK(result.error().kind() == ErrorKind::denied);
}

TEST_CASE("where nobody listens the error says so and is transient") {
  const test::Sshd sshd;
  Host host = sshd.host("a");
  host.port = test::free_port();
  Captured captured;
  const auto result = run_one(task_on(host, "true", captured));
  REQUIRE(!result.ok());
  CHECK(result.error().kind() == ErrorKind::transient);
  CHECK(std::string(result.error().what()).find("connection refused") != std::string::npos);
}

TEST_CASE("a host that accepts and then says nothing is given up in time") {
  const UniqueFd silent(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(silent.get(), generic, size) == 0);
  REQUIRE(::listen(silent.get(), 1) == 0);
  REQUIRE(::getsockname(silent.get(), generic, &size) == 0);
  const test::Sshd sshd;
  Host host = sshd.host("a");
  host.port = ntohs(address.sin_port);
  Captured captured;
  const auto result = run_one(task_on(host, "true", captured), {.connect_timeout = 200ms});
  REQUIRE(!result.ok());
  CHECK(result.error().kind() == ErrorKind::transient);
}

TEST_CASE("a time-out closes the held input, and the command may still say farewell") {
  const test::Sshd sshd;
  Captured captured;
  Task task = task_on(sshd.host("a"), "cat; echo bye", captured);
  task.hold_input_open = true;
  const auto result = run_one(std::move(task), {.timeout = 500ms});
  REQUIRE(!result.ok());
  CHECK(result.error().kind() == ErrorKind::timeout);
  CHECK(captured.out == "bye\n");
}

TEST_CASE("input that is held open after its last piece arrives at once, and ends with the run") {
  const test::Sshd sshd;
  Cancel cancel;
  std::string said;
  Task task{.host = sshd.host("a"),
            .command = "read -r line; echo \"got $line\"; cat; echo bye",
            .on_stdout =
                [&](std::string_view text) {
                  said += text;
                  cancel.request();
                },
            .next_input = [given = false]() mutable -> std::optional<std::string> {
              if (std::exchange(given, true)) return std::nullopt;
              return "one\n";
            },
            .hold_input_open = true};
  ssh::SshClient client;
  const auto results = client.run({std::move(task)}, {}, cancel);
  REQUIRE(!results[0].ok());
  CHECK(results[0].error().kind() == ErrorKind::interrupted);
  CHECK(said == "got one\nbye\n");
}

TEST_CASE("a cancel ends running and waiting tasks as interrupted") {
  const test::Sshd sshd;
  Cancel cancel;
  std::vector<Task> tasks;
  for (int i = 0; i < 5; ++i)
    tasks.push_back({.host = sshd.host("a"),
                     .command = "echo; cat",
                     .on_stdout = [&](std::string_view) { cancel.request(); },
                     .hold_input_open = true});
  ssh::SshClient client;
  const auto results = client.run(std::move(tasks), {.width = 2}, cancel);
  for (const auto& result : results) {
    REQUIRE(!result.ok());
    CHECK(result.error().kind() == ErrorKind::interrupted);
  }
}

TEST_CASE("what a callback throws ends its task with it") {
  const test::Sshd sshd;
  const auto result =
      run_one({.host = sshd.host("a"),
               .command = "echo; cat",
               .on_stdout = [](std::string_view) { throw Error(ErrorKind::capacity, "no room"); },
               .hold_input_open = true});
  REQUIRE(!result.ok());
  CHECK(result.error().kind() == ErrorKind::capacity);
}

TEST_CASE("a host behind two jump hosts is reached, and its bytes come through unchanged") {
  const test::Sshd gate;
  const test::Sshd second;
  const test::Sshd target;
  Host host = target.host("inner");
  host.jumps = {gate.host("gate"), second.host("second")};
  Captured captured;
  const auto result = run_one(task_on(host, "head -c 3000000 /dev/zero; exit 2", captured));
  REQUIRE_MESSAGE(result.ok(), result.error().what());
  CHECK(result.value().code() == 2);
  CHECK(captured.out == std::string(3'000'000, '\0'));
}

TEST_CASE("a wrong key of a jump host is refused in its name") {
  const test::Sshd gate;
  const test::Sshd target;
  Host host = target.host("inner");
  host.jumps = {gate.host("gate")};
  host.jumps[0].host_keys = {target.host_key()};
  Captured captured;
  const auto result = run_one(task_on(host, "true", captured));
  REQUIRE(!result.ok());
  CHECK(result.error().kind() == ErrorKind::denied);
  CHECK(std::string(result.error().what()).find("gate (127.0.0.1:") != std::string::npos);
}

TEST_CASE("many bytes survive a change of keys in the middle") {
  const test::Sshd sshd("RekeyLimit 1M");
  std::size_t received = 0;
  Task task{.host = sshd.host("a"), .command = "cat", .on_stdout = [&](std::string_view piece) {
              received += piece.size();
            }};
  int left = 100;
  task.next_input = [&]() -> std::optional<std::string> {
    if (left-- == 0) return std::nullopt;
    return std::string(200'000, 'y');
  };
  const auto result = run_one(std::move(task));
  REQUIRE_MESSAGE(result.ok(), result.error().what());
  CHECK(received == 20'000'000);
}

TEST_CASE("a scan shows the key that a host owns, without logging in") {
  const test::Sshd sshd;
  std::vector<Host> hosts = {sshd.host("a"), sshd.host("b")};
  hosts[0].host_keys.clear();
  hosts[1].port = test::free_port();
  const Cancel cancel;
  const auto results = ssh::scan_host_keys(hosts, 5s, cancel);
  REQUIRE(results[0].ok());
  CHECK(results[0].value() == sshd.host_key());
  REQUIRE(!results[1].ok());
  CHECK(results[1].error().kind() == ErrorKind::transient);
}

/// The failure of one task on that sshd; the test fails where there is none.
Error failure_on(const test::Sshd& sshd, Task task, const ssh::RunOptions& options,
                 const ssh::Timeouts& timeouts = {}) {
  ssh::SshClient client(timeouts);
  const Cancel cancel;
  task.host = sshd.host("a");
  const auto results = client.run({std::move(task)}, options, cancel);
  REQUIRE(!results[0].ok());
  return results[0].error();
}

bool says(const Error& e, const char* part) {
  CAPTURE(e.what());
  return std::string(e.what()).find(part) != std::string::npos;
}

TEST_CASE("a host that sends without end where an answer is expected is cut off") {
  const test::Sshd sshd;
  std::uint64_t heard = 0;
  Task task{.host = {}, .command = "exec yes", .on_stdout = [&](std::string_view text) {
              heard += text.size();
            }};
  task.most_output = 1 << 20;
  const Error e = failure_on(sshd, std::move(task), {.grace = 0ms});
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(says(e, "sent more than 1.05 MB"));
  CHECK(heard <= 1 << 20);
  Task complaint{.host = {}, .command = "exec yes >&2"};
  complaint.most_output = 1 << 20;
  CHECK(failure_on(sshd, std::move(complaint), {.grace = 0ms}).kind() == ErrorKind::remote);
}

TEST_CASE("a login shell that does not begin is given up, and what it printed is shown") {
  const test::Sshd sshd("ForceCommand echo please wait; sleep 100");
  const Error e =
      failure_on(sshd, {.host = {}, .command = "true"}, {.grace = 0ms}, {.answer = 500ms});
  CHECK(e.kind() == ErrorKind::timeout);
  CHECK(says(e, "within 500ms"));
  CHECK(says(e, "please wait"));
}

TEST_CASE("a command that always has something to say is given up when it falls silent") {
  const test::Sshd sshd;
  const ssh::RunOptions options{.silence = 700ms, .grace = 0ms};
  const Error e = failure_on(sshd, {.host = {}, .command = "echo once; exec sleep 100"}, options);
  CHECK(e.kind() == ErrorKind::timeout);
  CHECK(says(e, "no answer for 700ms"));
  const auto talks = "for i in 1 2 3 4 5 6; do echo .; sleep 0.3; done";
  ssh::SshClient client;
  const Cancel cancel;
  CHECK(client.run({{.host = sshd.host("a"), .command = talks}}, options, cancel)[0].ok());
}

TEST_CASE("what start-up files print is no answer, and an account that runs nothing is explained") {
  const test::Sshd noisy(
      "ForceCommand echo noise; echo noise >&2; exec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"");
  std::string out;
  std::string err;
  ssh::SshClient client;
  const Cancel cancel;
  const auto results = client.run({{.host = noisy.host("a"),
                                    .command = "echo out; echo err >&2; exit 3",
                                    .on_stdout = [&](std::string_view text) { out += text; },
                                    .on_stderr = [&](std::string_view text) { err += text; }}},
                                  {}, cancel);
  REQUIRE(results[0].ok());
  CHECK(results[0].value().code() == 3);
  CHECK(out == "out\n");
  CHECK(err == "err\n");
  const test::Sshd closed("ForceCommand echo Please login as ubuntu; exit 142");
  const Error e = failure_on(closed, {.host = {}, .command = "true"}, {});
  CHECK(e.kind() == ErrorKind::denied);
  CHECK(says(e, "exit code 142"));
  CHECK(says(e, "Please login as ubuntu"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
