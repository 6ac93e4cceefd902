#include "base/periodic_thread.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <latch>

namespace fastgpu {
namespace {

using namespace std::chrono_literals;

TEST_SUITE_BEGIN("base/periodic_thread");

TEST_CASE("the work is done again and again until the thread is stopped, and never afterwards") {
  std::latch third(3);
  std::atomic<int> calls = 0;
  PeriodicThread thread(1ms, [&] {
    if (++calls <= 3) third.count_down();
  });
  third.wait();
  thread.stop();
  const int made = calls;
  CHECK(made >= 3);
  thread.stop();
  CHECK(calls == made);
}

TEST_CASE("the first work may be done at once, and a long pause delays no end") {
  std::latch first(1);
  {
    const PeriodicThread thread(
        1h, [&] { first.count_down(); }, PeriodicThread::First::at_once);
    first.wait();
  }
  int calls = 0;
  {
    const PeriodicThread thread(1h, [&] { ++calls; });
  }
  CHECK(calls == 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
