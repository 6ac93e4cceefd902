#include "ssh/reachable.hpp"

#include <doctest/doctest.h>

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
