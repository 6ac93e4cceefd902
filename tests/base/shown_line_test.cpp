#include "base/shown_line.hpp"

#include <doctest/doctest.h>

namespace fastgpu {
namespace {

TEST_SUITE_BEGIN("base/shown_line");

TEST_CASE("a line is shown as a terminal shows it") {
  CHECK(shown_line("plain") == "plain");
  CHECK(shown_line("10 %\r50 %\r100 %\r") == "100 %");
  CHECK(shown_line("dos\r") == "dos");
  CHECK(shown_line("\r").empty());
  CHECK(shown_line({"a\0b", 3}) == "ab");
}

TEST_CASE("colours, titles and links are not shown") {
  CHECK(shown_line("\x1b[1;31mError\x1b[0m: no file") == "Error: no file");
  CHECK(shown_line("\x1b]0;a title\a$ ls") == "$ ls");
  CHECK(shown_line("\x1b]8;;http://a/\x1b\\here\x1b]8;;\x1b\\.") == "here.");
  CHECK(shown_line("\x1b(Bset\x1b=") == "set");
  CHECK(shown_line("\x1b[2K\x1b[?25l50 %") == "50 %");
}

TEST_CASE("an escape sequence that is cut short takes no more than itself") {
  for (const char* line : {"\x1b", "\x1b[", "\x1b[31", "\x1b]0;title", "\x1b(", "\x1b[31\n"})
    CHECK_MESSAGE(shown_line(std::string("ab") + line).substr(0, 2) == "ab", line);
  CHECK(shown_line("\x1b[31\x1b[0mleft") == "left");
  CHECK(shown_line("\x1b\xc3\xa9t\xc3\xa9") == "\xc3\xa9t\xc3\xa9");
}

TEST_CASE("a text is cut between characters") {
  CHECK(cut_to("caf\xc3\xa9", 5) == "caf\xc3\xa9");
  CHECK(cut_to("caf\xc3\xa9", 4) == "caf");
  CHECK(cut_to("\x80\x80", 1).empty());
  CHECK(cut_to("abc", 0).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
