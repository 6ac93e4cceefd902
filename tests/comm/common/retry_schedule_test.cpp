#include "comm/common/retry_schedule.hpp"

#include <doctest/doctest.h>

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

TEST_SUITE_BEGIN("comm/retry schedule");

TEST_CASE("pauses double with each failure, up to the longest") {
  RetrySchedule schedule({.first = 500ms, .longest = 3s, .stable = 10s});
  RetrySchedule::Time now{};
  for (const auto pause : {500ms, 1000ms, 2000ms, 3000ms, 3000ms}) {
    schedule.failed(now);
    CHECK(schedule.due() - now == pause);
    now = schedule.due();
  }
}

TEST_CASE("a success makes others due at once, and begins the pauses anew once it has lasted") {
  RetrySchedule schedule({.first = 500ms, .longest = 30s, .stable = 10s});
  RetrySchedule::Time now{};
  schedule.failed(now);
  schedule.failed(now);
  schedule.succeeded(now + 2s);
  CHECK(schedule.due() == now + 2s);
  schedule.failed(now + 3s);  // It has worked for a second.
  CHECK(schedule.due() == now + 3s + 2s);
  schedule.succeeded(now + 5s);
  schedule.failed(now + 15s);
  CHECK(schedule.due() == now + 15s + 500ms);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
