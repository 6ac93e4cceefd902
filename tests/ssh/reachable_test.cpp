#include "ssh/reachable.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "fakes/fake_ssh.hpp"

namespace fastgpu::ssh {
namespace {

using namespace std::chrono_literals;

const ReachOptions kQuick{
    .limit = 50ms, .first_pause = 1ms, .last_pause = 1ms, .denied_limit = 0ms};

std::vector<Host> hosts(int count) {
  std::vector<Host> all;
  for (int i = 0; i < count; ++i)
    all.push_back({.name = NodeName{"n" + std::to_string(i)}});
  return all;
}

TEST_SUITE_BEGIN("ssh/reachable");

TEST_CASE("a host that comes up later is asked again, the others are not") {
  int tries = 0;
  test::FakeSsh client([&](const test::FakeSsh::Seen& seen) -> test::FakeReply {
    if (seen.host == "n1" && ++tries < 4)
      return {.failure = Error(ErrorKind::transient, "connection refused")};
    return {};
  });
  const Cancel cancel;
  const auto results =
      wait_until_reachable(client, hosts(2), {.limit = 10s, .first_pause = 1ms}, cancel);
  CHECK(results[0].ok());
  CHECK(results[1].ok());
  CHECK(client.seen.size() == 5);
}

TEST_CASE("a host that never answers ends as timeout with the last failure") {
  test::FakeSsh client([](const auto&) -> test::FakeReply {
    return {.failure = Error(ErrorKind::transient, "connection refused")};
  });
  const Cancel cancel;
  const auto results = wait_until_reachable(client, hosts(1), kQuick, cancel);
  REQUIRE(!results[0].ok());
  CHECK(results[0].error().kind() == ErrorKind::timeout);
  CHECK(std::string(results[0].error().what()).find("connection refused") != std::string::npos);
}

TEST_CASE("the attempt that the limit cuts off does not hide why the host did not answer") {
  int tries = 0;
  test::FakeSsh client([&](const auto&) -> test::FakeReply {
    if (++tries == 1) return {.failure = Error(ErrorKind::transient, "connection refused")};
    std::this_thread::sleep_for(20ms);
    return {.failure = Error(ErrorKind::timeout, "not finished after 1ms")};
  });
  const Cancel cancel;
  const ReachOptions options{.limit = 10ms, .first_pause = 1ms};
  const auto results = wait_until_reachable(client, hosts(1), options, cancel);
  REQUIRE(!results[0].ok());
  CHECK(std::string(results[0].error().what()) == "connection refused (waited 10ms)");
}

TEST_CASE("what is looked at while hosts do not answer may end the wait") {
  test::FakeSsh client([](const auto&) -> test::FakeReply {
    return {.failure = Error(ErrorKind::transient, "no route to host")};
  });
  int looks = 0;
  const ReachOptions options{.limit = 10s,
                             .first_pause = 1ms,
                             .last_pause = 1ms,
                             .look =
                                 [&] {
                                   if (++looks == 3)
                                     throw Error(ErrorKind::capacity, "it has ended");
                                 },
                             .look_every = 0ms};
  CHECK_THROWS_AS(wait_until_reachable(client, hosts(1), options, Cancel()), Error);
  CHECK(looks == 3);
}

TEST_CASE("a host that goes on refusing us ends as denied") {
  test::FakeSsh client([](const auto&) -> test::FakeReply {
    return {.failure = Error(ErrorKind::denied, "login refused")};
  });
  const Cancel cancel;
  const auto results = wait_until_reachable(client, hosts(1), kQuick, cancel);
  REQUIRE(!results[0].ok());
  CHECK(results[0].error().kind() == ErrorKind::denied);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::ssh
