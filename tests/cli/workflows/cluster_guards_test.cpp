#include "cli/workflows/cluster_guards.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>

namespace fastgpu::cli {
namespace {

using namespace std::chrono_literals;

TEST_SUITE_BEGIN("cli/cluster_guards");

TEST_CASE("an end that the cloud's timers keep only later is said with what it costs") {
  const state::TimePoint due = state::TimePoint{} + 24h * 365;
  const std::optional<Money> cost = Money{31.52, kCny};
  const std::string late = late_end_text("huawei", due, due + 49min, cost);
  CHECK(late ==
        "its guards would delete the cluster at 1971-01-01T00:00:00Z, but the timers of huawei "
        "accept no time that is so close: it is deleted at 1971-01-01T00:49:00Z, after about 31.52 "
        "CNY");
  CHECK(late_end_text("huawei", due, due + 49min, std::nullopt).ends_with("00:49:00Z"));
  CHECK(late_end_text("huawei", due, due + 1min, cost).empty());
  CHECK(late_end_text("huawei", due, due, cost).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
