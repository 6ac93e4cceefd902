#include "transfer/relay_report.hpp"

#include <doctest/doctest.h>

namespace fastgpu::transfer {
namespace {

TEST_SUITE_BEGIN("transfer/relay_report");

TEST_CASE("a report is read as it was written, with its text on one line") {
  const auto found = parse_reports(to_line({2, 68, "writing x: no\nroom"}) + to_line({0, 0, "17"}));
  REQUIRE(found.size() == 2);
  CHECK(found[0].distance == 2);
  CHECK(found[0].status == 68);
  CHECK(found[0].text == "writing x: no room");
  CHECK(found[1].distance == 0);
  CHECK(found[1].text == "17");
}

TEST_CASE("what is no report, or is cut off, is passed over") {
  for (const char* text :
       {"", "\n", "1\n", "1 2\n", "x 0 17\n", "0 x 17\n", "-1 0 17\n", "0 0 17",
        "99999999999999999999999 0 17\n", "18446744073709551615 0 17\n", "0 99999999999 17\n"})
    CHECK_MESSAGE(parse_reports(text).empty(), text);
  CHECK(parse_reports("garbage\n0 0 17\n0 0 1").size() == 1);
}

TEST_CASE("no report is longer than a message") {
  const auto found = parse_reports("0 64 " + std::string(100'000, 'x') + "\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].text.size() == 1024);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::transfer
