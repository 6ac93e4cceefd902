#include "base/wait.hpp"

#include <doctest/doctest.h>

namespace fastgpu {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

TEST_SUITE_BEGIN("base/wait");

TEST_CASE("a wait ends at once if a stop was requested, however long it is") {
  Cancel cancel;
  cancel.request();
  const auto begin = SteadyClock::now();
  wait_or_cancel(std::chrono::hours(24 * 365), cancel);
  CHECK(SteadyClock::now() - begin < 10s);
}

TEST_CASE("a wait lasts as long as it is asked for, and a negative one not at all") {
  const Cancel never;
  const auto begin = SteadyClock::now();
  wait_or_cancel(20ms, never);
  CHECK(SteadyClock::now() - begin >= 20ms);
  wait_or_cancel(-1h, never);
  CHECK(SteadyClock::now() - begin < 10s);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
