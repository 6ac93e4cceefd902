#include "base/units.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu {
namespace {

using namespace std::chrono_literals;
using test::failure_of;

TEST_SUITE_BEGIN("base/units");

TEST_CASE("durations are read in the units that people write") {
  CHECK(parse_duration("30") == 30s);
  CHECK(parse_duration("250ms") == 250ms);
  CHECK(parse_duration("1.5h") == 90min);
  CHECK(parse_duration("7d") == 168h);
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
  for (const char* text : {"", "x", "-1s", "1y", "nan", "inf", "1e300d", "10 m", "0x10"}) {
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
  CHECK(to_string(Bytes{1'500'000'000}) == "1.5 GB");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
