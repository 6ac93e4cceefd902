#include "comm/transports/tcp_poller.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "base/unique_fd.hpp"

namespace fastgpu::comm {
namespace {

struct PolledPair {
  PolledPair() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    near = UniqueFd(ends[0]);
    far = UniqueFd(ends[1]);
  }
  void send() const { REQUIRE(::write(far.get(), "x", 1) == 1); }
  void take() const {
    char byte = 0;
    REQUIRE(::read(near.get(), &byte, 1) == 1);
  }

  UniqueFd near;  ///< The polled end.
  UniqueFd far;
};

/// Holds so many sockets, each of the rank of its place, and the poller of them.
struct PollerSite {
  explicit PollerSite(int count) : pairs(static_cast<std::size_t>(count)) {
    for (int i = 0; i < count; ++i)
      poller.add(pairs[static_cast<std::size_t>(i)].near.get(), {.rank = {i}}, "testing");
  }

  std::vector<int> ranks_with_news() {
    std::vector<int> ranks;
    for (const Readiness& ready : poller.look())
      if (ready.has_news) ranks.push_back(ready.source.rank.value);
    return ranks;
  }
  void look_in_vain(int times) {
    for (int i = 0; i < times; ++i)
      CHECK(poller.look().empty());
  }
  bool would_wake() const {
    pollfd polled{poller.descriptor(), POLLIN, 0};
    return ::poll(&polled, 1, 0) == 1;
  }

  std::vector<PolledPair> pairs;
  TcpPoller poller;
};

constexpr int kFew = 3;
constexpr int kMany = 40;
constexpr int kLongAwake = 1000;  // Looks.

TEST_SUITE_BEGIN("comm/transports/tcp_poller");

TEST_CASE("a poller reports what has news, however many it polls and however long it is awake") {
  for (const int count : {kFew, kMany}) {
    PollerSite site(count);
    for (const int looks : {0, kLongAwake}) {
      site.look_in_vain(looks);
      site.pairs[1].send();
      CHECK(site.ranks_with_news() == std::vector{1});
      CHECK(site.ranks_with_news() == std::vector{1});  // Until it is read.
      site.pairs[1].take();
      CHECK(site.ranks_with_news().empty());
    }
  }
}

TEST_CASE("news of before a sleep and of within it wake, also after long times awake") {
  for (const int count : {kFew, kMany}) {
    PollerSite site(count);
    for (const int looks : {0, kLongAwake, kLongAwake}) {
      site.look_in_vain(looks);
      site.pairs[0].send();
      CHECK(site.poller.may_sleep());
      CHECK(site.would_wake());
      site.pairs[0].take();
      CHECK_FALSE(site.would_wake());
      site.look_in_vain(kLongAwake);  // Another thread looks while one sleeps.
      site.pairs[2].send();
      CHECK(site.would_wake());
      site.poller.woke();
      CHECK(site.ranks_with_news() == std::vector{2});
      site.pairs[2].take();
    }
  }
}

TEST_CASE("A poller reports room where it is wanted, and bytes where they are, awake and asleep") {
  PollerSite site(kFew);
  const int polled = site.pairs[1].near.get();
  for (const int looks : {0, kLongAwake}) {
    site.look_in_vain(looks);
    site.poller.change(polled, {.in_bytes = false, .in_room = true});
    site.pairs[1].send();
    REQUIRE(site.poller.look().size() == 1);
    CHECK(site.poller.look()[0].has_room);
    CHECK_FALSE(site.poller.look()[0].has_news);
    site.poller.change(polled, {.in_bytes = false});
    CHECK(site.poller.may_sleep());
    CHECK_FALSE(site.would_wake());
    site.poller.change(polled, {.in_bytes = true});
    CHECK(site.would_wake());
    site.poller.woke();
    site.pairs[1].take();
  }
}

TEST_CASE("a descriptor that was removed is reported no more, one that was added is") {
  for (const int looks : {0, kLongAwake}) {
    PollerSite site(kFew);
    site.look_in_vain(looks);
    site.pairs[0].send();
    site.poller.remove(site.pairs[0].near.get());
    CHECK(site.poller.look().empty());
    CHECK(site.poller.may_sleep());
    CHECK_FALSE(site.would_wake());
    site.poller.add(site.pairs[0].near.get(), {.rank = {7}}, "testing");
    CHECK(site.would_wake());
    site.poller.woke();
    CHECK(site.ranks_with_news() == std::vector{7});
  }
}

TEST_CASE("a poller goes on where a few become many, and again few") {
  PollerSite site(kFew);
  site.look_in_vain(kLongAwake);
  std::vector<PolledPair> others(kMany);
  for (std::size_t i = 0; i < others.size(); ++i)
    site.poller.add(others[i].near.get(), {.rank = {100 + static_cast<int>(i)}}, "testing");
  others[5].send();
  CHECK(site.ranks_with_news() == std::vector{105});
  CHECK(site.poller.may_sleep());
  CHECK(site.would_wake());
  site.poller.woke();
  others[5].take();
  for (const PolledPair& other : others)
    site.poller.remove(other.near.get());
  site.look_in_vain(kLongAwake);
  site.pairs[2].send();
  CHECK(site.ranks_with_news() == std::vector{2});
}

TEST_CASE("the end of the other side is news, and wakes") {
  PollerSite site(kFew);
  site.look_in_vain(kLongAwake);
  site.pairs[1].far = {};
  CHECK(site.ranks_with_news() == std::vector{1});
  CHECK(site.poller.may_sleep());
  CHECK(site.would_wake());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
