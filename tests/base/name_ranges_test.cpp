#include "base/name_ranges.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu {
namespace {

using test::failure_of;
using Names = std::vector<std::string>;

TEST_SUITE_BEGIN("base/name_ranges");

TEST_CASE("ranges are written out, zeros before a number are kept") {
  CHECK(expand_name("n[01-04]", 100) == Names{"n01", "n02", "n03", "n04"});
  CHECK(expand_name("n[1,3-5]", 100) == Names{"n1", "n3", "n4", "n5"});
  CHECK(expand_name("n[8-10].lab", 100) == Names{"n8.lab", "n9.lab", "n10.lab"});
  CHECK(expand_name("r[1-2]n[08-09]", 100) == Names{"r1n08", "r1n09", "r2n08", "r2n09"});
  CHECK(expand_name("10.0.0.[7]", 100) == Names{"10.0.0.7"});
  CHECK(expand_name("login", 100) == Names{"login"});
}

TEST_CASE("brackets that hold no range are not expanded") {
  for (const char* text : {"n[", "n]", "n[]", "n[3-1]", "n[a-c]", "n[1-]", "n[1,,2]", "n[1[2]]",
                           "n[-1]", "n[9999999999]", "[fd00::1]"}) {
    CAPTURE(text);
    CHECK_FALSE(expand_name(text, 100));
  }
}

TEST_CASE("a range of too many names is refused before it is written out") {
  for (const char* text : {"n[0-100]", "n[0-999999999]", "n[1-60]x[1-60]", "n[1-99,1-99]"}) {
    CAPTURE(text);
    CHECK(failure_of([&] { expand_name(text, 100); }).kind() == ErrorKind::usage);
  }
}

TEST_CASE("a list is split at the commas outside brackets") {
  CHECK(split_name_list("a,n[1,3],b") == std::vector<std::string_view>{"a", "n[1,3]", "b"});
  for (const char* text : {"", ",", "a,,b", "a,", "n[1,2", "n]1[", "a,n[1"}) {
    CAPTURE(text);
    CHECK_FALSE(split_name_list(text));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
