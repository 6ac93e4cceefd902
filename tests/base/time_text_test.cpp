#include "base/time_text.hpp"

#include <doctest/doctest.h>

namespace fastgpu {
namespace {

using namespace std::chrono_literals;

TEST_SUITE_BEGIN("base/time_text");

TEST_CASE("a time is shown in UTC, rounded down to the second") {
  const std::chrono::sys_days day = std::chrono::year(2026) / 3 / 1;
  CHECK(utc_text(day + 12h) == "2026-03-01T12:00:00Z");
  CHECK(utc_text(day + 12h + 999ms) == "2026-03-01T12:00:00Z");
  CHECK(utc_text(std::chrono::sys_days(std::chrono::year(1969) / 12 / 31) + 24h - 1ms) ==
        "1969-12-31T23:59:59Z");
  CHECK(utc_text(day, "%Y%m%dT%H%M%SZ") == "20260301T000000Z");
}

TEST_CASE("milliseconds are rounded down, and have three digits") {
  CHECK(utc_text_ms(0) == "1970-01-01T00:00:00.000Z");
  CHECK(utc_text_ms(1'772'366'400'007'999'999) == "2026-03-01T12:00:00.007Z");
  CHECK(utc_text_ms(-1) == "1969-12-31T23:59:59.999Z");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
