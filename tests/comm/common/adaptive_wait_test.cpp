#include "comm/common/adaptive_wait.hpp"

#include <doctest/doctest.h>

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

int pauses_before_sleep(AdaptiveWait& adaptive_wait) {
  int pauses = 0;
  while (!adaptive_wait.pause())
    ++pauses;
  return pauses;
}

TEST_SUITE_BEGIN("comm/adaptive_wait");

TEST_CASE("who waits in vain leaves the core so many times, and sleeps") {
  SpinPolicy policy;
  AdaptiveWait adaptive_wait(policy, 10, 1h);
  const int spins = policy.spins();
  CHECK(pauses_before_sleep(adaptive_wait) == spins + 10);
  CHECK(adaptive_wait.pause());
  adaptive_wait.reset();
  CHECK(pauses_before_sleep(adaptive_wait) == spins + 10);
}

TEST_CASE("who gets the core back late sleeps sooner") {
  SpinPolicy policy;
  AdaptiveWait adaptive_wait(policy, 10, 0s);
  CHECK(pauses_before_sleep(adaptive_wait) == policy.spins());
}

TEST_CASE("ranks without a core each sleep sooner than others, and do not spin before") {
  SpinPolicy alone;
  SpinPolicy crowded(false);
  CHECK(crowded.longest_looking() < alone.longest_looking());
  CHECK(crowded.spins() == 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
