#include "ssh/preamble.hpp"

#include <doctest/doctest.h>

namespace fastgpu::ssh {
namespace {

/// What is behind the mark of a stream that comes in pieces of that size.
std::string behind(const std::string& stream, std::size_t size, Preamble& preamble) {
  std::string out;
  for (std::size_t at = 0; at < stream.size(); at += size)
    out += preamble.behind(std::string_view(stream).substr(at, size));
  return out;
}

TEST_SUITE_BEGIN("ssh/preamble");

TEST_CASE("what comes before the mark is kept apart, however the stream is cut") {
  for (std::size_t size = 1; size < 40; ++size) {
    CAPTURE(size);
    Preamble noisy("MARK-1");
    CHECK(behind("Welcome\nMARK- MAR\nMARK-1\nanswer\nMARK-1\n", size, noisy) ==
          "answer\nMARK-1\n");
    CHECK(noisy.text() == "Welcome\nMARK- MAR");
    Preamble quiet("MARK-1");
    CHECK(behind("\nMARK-1\n", size, quiet).empty());
    CHECK(quiet.ended());
    Preamble terminal("MARK-1");
    CHECK(behind("\r\nMARK-1\r\n\nx", size, terminal) == "\nx");
    Preamble tracing("MARK-1");
    CHECK(behind("+ sh -c 'echo MARK-1; run'\n+ echo MARK-1\n\nMARK-1\nx", size, tracing) == "x");
    CHECK(tracing.text() == "+ sh -c 'echo MARK-1; run'\n+ echo MARK-1\n");
  }
}

TEST_CASE("without a mark nothing is answer, and little is kept") {
  Preamble endless("MARK-1");
  CHECK(behind(std::string(10'000'000, 'x'), 65'536, endless).empty());
  CHECK_FALSE(endless.ended());
  CHECK(endless.text() == std::string(4096, 'x'));
}

TEST_CASE("marks differ") {
  CHECK(new_mark() != new_mark());
}

TEST_CASE("what was printed fits into a message") {
  CHECK(in_one_line("\n  a\r\n\tb \x1b[2J\n\n") == "a b \\x1b[2J");
  CHECK(in_one_line(" \n").empty());
  CHECK(in_one_line(std::string(1000, 'x')).size() < 320);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::ssh
