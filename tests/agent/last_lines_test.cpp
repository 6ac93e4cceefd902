#include "agent/jobs/last_lines.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "agent/jobs/log_times.hpp"
#include "agent/protocol/status.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::agent {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kMuch = 100'000;

void write_log(const std::filesystem::path& log, const std::string& text,
               const std::vector<LogTime>& times = {}) {
  std::ofstream(log, std::ios::binary) << text;
  std::ofstream index(times_path(log), std::ios::binary);
  for (const LogTime& time : times)
    index.write(reinterpret_cast<const char*>(&time), sizeof time);
}

TEST_SUITE_BEGIN("agent/last_lines");

TEST_CASE("the lines of both streams are in the order in which they were written") {
  const test::TempDirectory directory;
  const auto stem = directory.path() / "0";
  write_log(stem.string() + ".out", "one\nthree\n", {{100, 4}, {300, 10}});
  write_log(stem.string() + ".err", "two\n\n \t\nfour", {{200, 4}, {400, 12}});
  CHECK(last_lines(stem, {}, kMuch) == Lines{"one", "two", "three", "four"});
  write_log(stem.string() + ".out", "one\nthree\n");  // Without times it comes last.
  CHECK(last_lines(stem, {}, kMuch) == Lines{"two", "four", "one", "three"});
  CHECK(last_lines(directory.path() / "none", {}, kMuch).empty());
}

TEST_CASE("few lines are reported, and of each its beginning") {
  const test::TempDirectory directory;
  const auto stem = directory.path() / "0";
  std::string text;
  for (int i = 0; i < 100; ++i)
    text += "line " + std::to_string(i) + "\n";
  write_log(stem.string() + ".out", text);
  const Lines last = last_lines(stem, {}, kMuch);
  REQUIRE(last.size() == kMostLastLines);
  CHECK(last.front() == "line 80");
  CHECK(last.back() == "line 99");
  CHECK(last_lines(stem, {}, 16) == Lines{"line 98", "line 99"});
  CHECK(last_lines(stem, {}, 0).empty());
  // A character is not cut.
  write_log(stem.string() + ".out", std::string(kLongestLastLine - 1, 'x') + "\u00e9 and more");
  CHECK(last_lines(stem, {}, kMuch) == Lines{std::string(kLongestLastLine - 1, 'x')});
  // Nothing is known of a line whose beginning is far away: it may be a part of a secret.
  write_log(stem.string() + ".out", std::string(1'000'000, 'x') + "\nend\n");
  CHECK(last_lines(stem, {}, kMuch) == Lines{"end"});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
