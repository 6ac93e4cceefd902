#include "comm/common/adaptive_wait.hpp"

#include <doctest/doctest.h>

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

int pauses_before_sleep(Patience& patience) {
  int pauses = 0;
  while (!patience.pause())
    ++pauses;
  return pauses;
}

TEST_SUITE_BEGIN("comm/engine");

TEST_CASE("who waits in vain leaves the core so many times, and sleeps") {
  SpinHabit habit;
  Patience patience(habit, 10, 1h);
  const int spins = habit.spins();
  CHECK(pauses_before_sleep(patience) == spins + 10);
  CHECK(patience.pause());
  patience.reset();
  CHECK(pauses_before_sleep(patience) == spins + 10);
}

TEST_CASE("who gets the core back late sleeps sooner") {
  SpinHabit habit;
  Patience patience(habit, 10, 0s);
  CHECK(pauses_before_sleep(patience) == habit.spins());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
