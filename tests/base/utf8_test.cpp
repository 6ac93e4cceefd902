#include "base/utf8.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "base/names.hpp"

namespace fastgpu {
namespace {

TEST_SUITE_BEGIN("base/utf8");

TEST_CASE("what steers a terminal and what is not UTF-8 is escaped, all else stays") {
  struct Case {
    std::string text;
    std::string shown;
  };
  const std::vector<Case> cases = {
      {"plain ü 名 \U0001F600 ~", "plain ü 名 \U0001F600 ~"},
      {"\x1b[2J", "\\x1b[2J"},
      {"a\x7f\x08z", "a\\x7f\\x08z"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\\u0080\\u009b\\u009f\xc2\xa0"},
      {"\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\xaa\xe2\x80\xae", "\\u200e\\u200f\\u202a\\u202e"},
      {"\xe2\x81\xa6\xe2\x81\xa9\xd8\x9c", "\\u2066\\u2069\\u061c"},
      {"\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029"},
      {"\x80\xff", "\\x80\\xff"},
      {"\xc0\x9b", "\\xc0\\x9b"},                    // An overlong ESC.
      {"\xe0\x82\x9b", "\\xe0\\x82\\x9b"},           // An overlong CSI.
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // A surrogate.
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // Above U+10FFFF.
      {"\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80"},
      {"cut \xe2\x80", "cut \\xe2\\x80"},
      {"\xc2", "\\xc2"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.shown);
    CHECK(escaped(one.text, Layout::one_line) == one.shown);
    CHECK(escaped(one.text, Layout::kept) == one.shown);
    CHECK(needs_escape(one.text) == (one.text != one.shown));
    CHECK(escaped(one.shown, Layout::one_line) == one.shown);
  }
}

TEST_CASE("line ends and tabs stay where they are layout, and no return does") {
  CHECK(escaped("a\tb\nc\r\nd\re", Layout::kept) == "a\tb\nc\nd\\re");
  CHECK(escaped("a\tb\nc\r\nd\re", Layout::one_line) == "a\\tb\\nc\\r\\nd\\re");
  CHECK_FALSE(needs_escape("a\tb\n"));
  CHECK(needs_escape("a\r\n"));
}

TEST_CASE("a byte order mark is removed at the beginning of a text, once, and nowhere else") {
  CHECK(without_byte_order_mark("\xef\xbb\xbf"
                                "a=1") == "a=1");
  CHECK(without_byte_order_mark("\xef\xbb\xbf\xef\xbb\xbf") == "\xef\xbb\xbf");
  for (const char* text : {"", "a=1", "\xef\xbb", "a\xef\xbb\xbf", "\xff\xfe"}) {
    CAPTURE(text);
    CHECK(without_byte_order_mark(text) == text);
  }
}

TEST_CASE("what is printable is cut between characters") {
  CHECK(printable("a\xc2\x9b\xe2\x80\xae") == "a\\u009b\\u202e");
  CHECK(printable("aüb", 2) == "a...");
  CHECK(printable("aüb", 3) == "aü...");
  CHECK(printable("aüb", 4) == "aüb");
  CHECK(printable("", 0).empty());
}

TEST_CASE("printable ASCII needs no escape and takes one column a character") {
  CHECK(is_printable_ascii(""));
  CHECK(is_printable_ascii("a ~"));
  for (const char* text : {"a\n", "\x7f", "\xc3\xa9", "\xff", "\x1b[0m"})
    CHECK_FALSE(is_printable_ascii(text));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
