#include "agent/jobs/rank_lease.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <optional>
#include <thread>

#include "agent/protocol/silence.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;

TEST_SUITE_BEGIN("agent/rank_lease");

TEST_CASE("an address and a port are read, and nothing else") {
  const auto head = parse_head_address("10.0.0.1 20433");
  REQUIRE(head);
  CHECK(head->address == "10.0.0.1");
  CHECK(head->port == 20433);
  CHECK(parse_head_address("fd00::1 1")->address == "fd00::1");
  for (const char* text : {"", " ", "10.0.0.1", "10.0.0.1 ", "10.0.0.1 0", " 20433", "a 70000"})
    CHECK_FALSE(parse_head_address(text));
}

TEST_CASE("a lease runs out only after it was held, and by the silence before its loss") {
  const LeaseClock::Time start{};
  LeaseClock clock;
  clock.lose(start, 1h);
  CHECK_FALSE(clock.has_run_out(start + 24h));
  clock.hold();
  CHECK_FALSE(clock.has_run_out(start + 24h));
  clock.lose(start + 10s, 0s);
  clock.lose(start + 12s, 0s);  // A second attempt fails, too.
  CHECK_FALSE(clock.has_run_out(start + 10s + kRankLease - 1ms));
  CHECK(clock.has_run_out(start + 10s + kRankLease));
  clock.hold();
  CHECK_FALSE(clock.has_run_out(start + 24h));
  clock.lose(start + 100s, kRankLease);
  CHECK(clock.has_run_out(start + 100s));
}

/// Lets both sides act until the condition is true, for at most three seconds.
template <class Condition>
bool meet(LeaseListener* listener, RankLease& lease, Condition condition) {
  for (int i = 0; i < 300; ++i) {
    lease.look();
    if (listener != nullptr) listener->look();
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

bool is_connected(const RankLease& lease) {
  return lease.wanted().fd >= 0 && (lease.wanted().events & POLLIN) != 0;
}

TEST_CASE("a rank connects, notices that the supervisor has gone, and connects anew") {
  std::optional<LeaseListener> listener(std::in_place);
  REQUIRE(listener->port() != 0);
  RankLease lease(HeadAddress{"127.0.0.1", listener->port()}, 3);
  CHECK(meet(&*listener, lease, [&] { return is_connected(lease); }));
  CHECK(lease.wait() == -1);
  listener.reset();
  CHECK(meet(nullptr, lease, [&] { return !is_connected(lease); }));
  CHECK_FALSE(lease.has_run_out());
  CHECK(lease.wait() >= 0);
}

TEST_CASE("a rank that ends or is killed is not cut off, and silence is not the end of a program") {
  LeaseListener listener;
  std::optional<RankLease> lease(std::in_place, HeadAddress{"127.0.0.1", listener.port()}, 3);
  CHECK(meet(&listener, *lease, [&] { return is_connected(*lease); }));
  listener.look();
  lease.reset();
  for (int i = 0; i < 20; ++i) {
    listener.look();
    std::this_thread::sleep_for(1ms);
  }
  CHECK_FALSE(listener.cut_off_rank());
  for (const int number : {ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, EHOSTDOWN})
    CHECK(is_silence(number));
  for (const int number : {0, ECONNRESET, EPIPE})
    CHECK_FALSE(is_silence(number));
}

TEST_CASE("a rank that never reaches the supervisor, or has none, has no lease") {
  RankLease nowhere(HeadAddress{"127.0.0.1", 1}, 1);
  RankLease none(std::nullopt, 2);
  RankLease nonsense(HeadAddress{"a name", 1}, 3);
  for (RankLease* lease : {&nowhere, &none, &nonsense}) {
    lease->look();
    lease->look();
    CHECK_FALSE(lease->has_run_out());
  }
  CHECK(none.wait() == -1);
  CHECK(nowhere.wait() >= 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
