#include "launcher/guard_orders.hpp"

#include <doctest/doctest.h>

#include <ctime>

#include "fakes/fake_ssh.hpp"

namespace fastgpu::launcher {
namespace {

/// Returns a report that was sent at `sent` by the node's clock.
agent::NodeWatch watch_sent_at(std::int64_t sent) {
  agent::NodeWatch watch{.looked = sent - 2, .idle_since = sent - 60, .powers_off = sent + 300};
  watch.taken_back = 5000;
  watch.at_risk = 4000;
  watch.wakings = {{.kind = "job", .what = "train-1", .since = sent - 100, .last = sent - 2},
                   {.kind = "gpu", .what = "GPU 0", .since = 0, .last = sent - 2}};
  watch.sent = sent;
  return watch;
}

TEST_SUITE_BEGIN("launcher/guard_orders");

TEST_CASE("a node's report is brought to our clock, and what the cloud has announced stays") {
  const std::int64_t leads[] = {3600, -3600};
  for (const std::int64_t lead : leads) {
    CAPTURE(lead);
    const agent::NodeWatch seen = by_our_clock(watch_sent_at(100'000 + lead), 100'000, 100'000);
    CHECK(seen.looked == 99'998);
    CHECK(seen.idle_since == 99'940);
    CHECK(seen.powers_off == 100'300);
    CHECK(seen.wakings[0].since == 99'900);
    CHECK(seen.wakings[0].last == 99'998);
    CHECK(seen.wakings[1].since == 0);
    CHECK(seen.taken_back == 5000);
    CHECK(seen.at_risk == 4000);
  }
}

TEST_CASE("a report that came while it was waited for is not corrected") {
  for (const std::int64_t sent : {100'000, 100'003, 100'010}) {
    CAPTURE(sent);
    CHECK(by_our_clock(watch_sent_at(sent), 100'000, 100'010).looked == sent - 2);
  }
  agent::NodeWatch old = watch_sent_at(7);
  old.sent.reset();
  CHECK(by_our_clock(old, 100'000, 100'010).looked == 5);
}

TEST_CASE("times that are unknown, or never come, stay so") {
  agent::NodeWatch watch{.looked = 200'000};
  watch.sent = 200'000;
  const agent::NodeWatch seen = by_our_clock(watch, 100'000, 100'000);
  CHECK(seen.idle_since == 0);
  CHECK(seen.powers_off == 0);
}

TEST_CASE("the reports of nodes whose clocks are wrong are by our clock") {
  const std::int64_t now = std::time(nullptr);
  test::FakeSsh client([&](const test::FakeSsh::Seen&) {
    return test::FakeReply{.out = to_text(watch_sent_at(now + 86'400))};
  });
  const ssh::Host hosts[] = {{.name = {"n-0"}}};
  const Cancel never;
  const auto watches =
      watch_nodes(client, hosts, {.file = {}, .hash = {"0123456789abcdef"}}, never);
  REQUIRE(watches.size() == 1);
  REQUIRE(watches[0].ok());
  CHECK(watches[0].value().powers_off >= now + 295);
  CHECK(watches[0].value().powers_off <= now + 305);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
