#include "agent/jobs/idle_watch.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;
using Time = IdleClock::Time;

constexpr Time kBegin{std::chrono::hours(1)};

TEST_SUITE_BEGIN("agent/idle_watch");

TEST_CASE("a rank is idle from its last activity on") {
  IdleClock clock(1min);
  Activity seen{.output = 10, .cpu = 1s, .traffic = 1'000};
  CHECK(clock.observe(kBegin, seen) == 0ms);
  CHECK(clock.observe(kBegin + 10s, seen) == 10s);
  CHECK(clock.observe(kBegin + 20s, seen) == 20s);
  seen.output = 11;
  CHECK(clock.observe(kBegin + 30s, seen) == 0ms);
  CHECK(clock.observe(kBegin + 40s, seen) == 10s);
}

TEST_CASE("a hundredth of a core and 20 KB a second are the least that counts as activity") {
  const auto idle_after = [](const Activity& more) {
    IdleClock clock(1min);
    clock.observe(kBegin, {.output = 5, .cpu = 1s, .traffic = 50});
    return clock.observe(
        kBegin + 10s,
        {.output = 5 + more.output, .cpu = 1s + more.cpu, .traffic = 50 + more.traffic});
  };
  CHECK(idle_after({.cpu = 90ms}) == 10s);
  CHECK(idle_after({.cpu = 100ms}) == 0ms);
  CHECK(idle_after({.traffic = 199'999}) == 10s);
  CHECK(idle_after({.traffic = 200'000}) == 0ms);
  CHECK(idle_after({.output = 1}) == 0ms);
}

TEST_CASE("a tick of the kernel's clock now and then is no activity, however short the limit is") {
  for (const auto limit : {2s, 3s, 6s, 10s, 60s}) {
    IdleClock clock(limit);
    Activity seen{};
    std::chrono::milliseconds idle{0};
    for (auto passed = 0ms; passed <= 60s; passed += 500ms) {
      if (passed % 3s == 0s) seen.cpu += 10ms;
      idle = clock.observe(kBegin + passed, seen);
    }
    CHECK(idle == 60s);
  }
}

TEST_CASE("a rank that uses three hundredths of a core by and by is active with any limit") {
  for (const auto limit : {2s, 6s, 60s}) {
    IdleClock clock(limit);
    Activity seen{};
    for (auto passed = 0ms; passed <= 60s; passed += 500ms) {
      if (passed % 1s == 0s) seen.cpu += 30ms;
      CHECK(clock.observe(kBegin + passed, seen) < limit);
    }
  }
}

TEST_CASE("what the library writes while its rank waits is no output") {
  const std::string gradients =
      "fastgpu_comm: rank 1 has sent nothing in step 3; this rank has waited for 10s\n";
  const std::string messages =
      "rank 1 has taken nothing for 30s; rank 0 waits for it in a broadcast, for up to 1m\n";
  CHECK(output_in(gradients + messages) == 0);
  CHECK(output_in(gradients + "step 4\n" + messages) == 7);
  CHECK(output_in("step 4") == 6);
  CHECK(output_in(gradients.substr(0, gradients.size() - 1)) == 0);
  CHECK(output_in("\n\n") == 2);
  CHECK(output_in("") == 0);
}

TEST_CASE("a process of the rank that ends is activity") {
  IdleClock clock(1min);
  clock.observe(kBegin, {.cpu = 5s});
  CHECK(clock.observe(kBegin + 10s, {.cpu = 1s}) == 0ms);
}

TEST_CASE("the times of a process and of its ended children are read from the kernel's text") {
  const std::string stat =
      "12 (a) b) S 7 12 12 0 -1 4194304 1 2 3 4 100 50 25 25 20 0 1 0 100 1000 10";
  CHECK(cpu_time_in(stat, 100) == 2s);
  CHECK(parent_in(stat) == 7);
  CHECK_FALSE(cpu_time_in("12 (a) S 7", 100));
  CHECK_FALSE(cpu_time_in("", 100));
  CHECK(parent_in("nonsense") == 0);
}

TEST_CASE("traffic is that of all interfaces but the loopback") {
  const std::string text =
      "Inter-|   Receive                            |  Transmit\n"
      " face |bytes packets errs drop fifo frame compressed multicast|bytes packets\n"
      "    lo: 5000 1 0 0 0 0 0 0 5000 1 0 0 0 0 0 0\n"
      "  eth0: 100 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\n"
      "lowpan0:3 1 0 0 0 0 0 0 4 1 0 0 0 0 0 0\n"
      "broken: 1 2\n";
  CHECK(traffic_in(text) == 127);
  CHECK(traffic_in("") == 0);
}

TEST_CASE("the family of a process has its children, and none of its siblings") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto family = family_of(::getpid());
  CHECK(std::ranges::find(family, child) != family.end());
  CHECK(family.front() == ::getpid());
  CHECK(family_of(child) == std::vector<pid_t>{child});
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(family_of(child).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
