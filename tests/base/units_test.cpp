#include "base/units.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu {
namespace {

using namespace std::chrono_literals;
using test::failure_of;

TEST_SUITE_BEGIN("base/units");

TEST_CASE("durations are read in the units that people write") {
  CHECK(parse_duration("250ms") == 250ms);
  CHECK(parse_duration("1.5h") == 90min);
  CHECK(parse_duration("7d") == 168h);
}

TEST_CASE("durations are read as people say them, in parts and in words") {
  const std::pair<const char*, std::chrono::milliseconds> cases[] = {
      {"1h30m", 90min}, {"1h 30m", 90min},    {"1 hour 30 minutes", 90min},
      {"1w", 168h},     {"1 week", 168h},     {"2 weeks", 336h},
      {"2d", 48h},      {"1day", 24h},        {"2d03h", 51h},
      {"3m20s", 200s},  {"90 min", 90min},    {"1hour", 1h},
      {"2hrs", 2h},     {"1hr", 1h},          {"10 secs", 10s},
      {"10min", 10min}, {"1s500ms", 1500ms},  {"1H30M", 90min},
      {"0", 0s},        {"0s", 0s},           {"1w2d3h4m5s6ms", 788'645'006ms},
      {"0.5d", 12h},    {"1.5 hours", 90min}, {"5 sec", 5s}};
  for (const auto& [text, wanted] : cases) {
    const auto& shown = text;
    CAPTURE(shown);
    CHECK(parse_duration(text) == wanted);
  }
}

TEST_CASE("a number without a unit is no duration, whatever it was meant in") {
  for (const char* text : {"8", "5", "30", "1.5", "00", "0.0", "1h30", "1 ", "8 "}) {
    const auto& shown = text;
    CAPTURE(shown);
    CHECK(failure_of([&] { parse_duration(text); }).kind() == ErrorKind::usage);
  }
  CHECK(std::string(failure_of([] { parse_duration("8"); }).what()) ==
        "'8' lacks its unit: write it like 250ms, 30s, 10m, 2h, 1h30m, 7d or 1w");
}

TEST_CASE("every duration and size that is printed is read back, up to its last digit") {
  std::uint64_t step = 1;
  for (std::int64_t count = 0; count < 3'155'000'000'000;
       count += static_cast<std::int64_t>(step)) {
    step += 1 + step / 7;
    const std::chrono::milliseconds wanted(count);
    const std::string text = to_string(wanted);
    CAPTURE(text);
    CHECK(to_string(parse_duration(text)) == text);
    const std::string size = to_string(Bytes{static_cast<std::uint64_t>(count)});
    CAPTURE(size);
    CHECK(to_string(parse_size(size)) == size);
  }
}

TEST_CASE("a duration is written exactly where its rounded form would be another one") {
  CHECK(to_exact_string(3601s) == "3601s");
  CHECK(to_exact_string(1h) == "1h");
  CHECK(to_exact_string(61min) == "61m");
  CHECK(to_exact_string(1999ms) == "1999ms");
  CHECK(to_exact_string(48h) == "2d");
}

TEST_CASE("a duration of over 100 years is called too long") {
  for (const char* text : {"101w 9999999d", "999999999999w"})
    CHECK(std::string(failure_of([&] { parse_duration(text); }).what()) ==
          "'" + std::string(text) + "' is too long: a duration is at most 100 years");
}

TEST_CASE("sizes tell powers of ten from powers of two") {
  CHECK(parse_size("256MB").count == 256'000'000);
  CHECK(parse_size("256MiB").count == 256ULL << 20);
  CHECK(parse_size("17").count == 17);
}

TEST_CASE("link rates are read and printed alike") {
  CHECK(parse_bit_rate("1gbit").bits_per_second == 1'000'000'000);
  CHECK(parse_bit_rate("300Mbps").bits_per_second == 300'000'000);
  CHECK(to_string(parse_bit_rate("2.5gbit")) == "2.5gbit");
}

TEST_CASE("what is no quantity is refused with the value met") {
  for (const char* text :
       {"",       "x",     "-1s",   "1y",   "nan",    "inf", "1e300d", "1e3s",   "0x10",
        "-0s",    "1h-5m", "30m1h", "1h1h", "1m1min", "h",   "1,5h",   "1h,30m", "1h and",
        "1month", "5 ",    " 5s",   "5s ",  "1:30",   "+5s", "1h30m ", "200y",   "101000w"}) {
    CAPTURE(text);
    CHECK(failure_of([&] { parse_duration(text); }).kind() == ErrorKind::usage);
  }
  CHECK(failure_of([] { parse_size("-5"); }).kind() == ErrorKind::usage);
  CHECK(failure_of([] { parse_bit_rate("0gbit"); }).kind() == ErrorKind::usage);
  CHECK(std::string(failure_of([] { parse_bit_rate("fast"); }).what()).find("'fast'") == 0);
}

TEST_CASE("durations and sizes are printed at a readable length") {
  CHECK(to_string(250ms) == "250ms");
  CHECK(to_string(std::chrono::milliseconds(1500)) == "1.5s");
  CHECK(to_string(std::chrono::milliseconds(200s)) == "3m20s");
  CHECK(to_string(std::chrono::milliseconds(7500s)) == "2h05m");
  CHECK(to_string(std::chrono::milliseconds(0)) == "0s");
  CHECK(to_string(std::chrono::milliseconds(120s)) == "2m");
  CHECK(to_string(std::chrono::milliseconds(2h)) == "2h");
  CHECK(to_string(std::chrono::milliseconds(72h)) == "3d");
  CHECK(to_string(Bytes{1'500'000'000}) == "1.5 GB");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
