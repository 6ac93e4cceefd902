#include "base/split.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

namespace fastgpu {
namespace {

using Pieces = std::vector<std::string_view>;

TEST_SUITE_BEGIN("base/split");

TEST_CASE("a text has one part more than separators") {
  CHECK(split("", ',') == Pieces{""});
  CHECK(split("a", ',') == Pieces{"a"});
  CHECK(split("a,,b,", ',') == Pieces{"a", "", "b", ""});
}

TEST_CASE("the last line may lack its line end, and an empty line counts") {
  CHECK(split_lines("").empty());
  CHECK(split_lines("one") == Pieces{"one"});
  CHECK(split_lines("one\n") == Pieces{"one"});
  CHECK(split_lines("one\n\ntwo") == Pieces{"one", "", "two"});
  CHECK(split_lines("\n") == Pieces{""});
}

TEST_CASE("words have no blanks in and around them, and none is empty") {
  CHECK(split_words("").empty());
  CHECK(split_words(" \t\r\n").empty());
  CHECK(split_words("  one\ttwo \n") == Pieces{"one", "two"});
  CHECK(split_words("/a//b", "/") == Pieces{"a", "b"});
}

TEST_CASE("trimming leaves the blanks inside") {
  CHECK(trimmed(" \ta b\t ") == "a b");
  CHECK(trimmed(" \t ").empty());
  CHECK(trimmed("text\n\n", "\n") == "text");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
