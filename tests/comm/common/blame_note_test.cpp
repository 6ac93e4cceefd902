#include "comm/common/blame_note.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "support/temp_directory.hpp"

namespace fastgpu::comm {
namespace {

Environment naming(const std::filesystem::path& file) {
  return [file](const std::string& name) {
    return name == "FASTGPU_BLAME_FILE" ? std::optional(file.string()) : std::nullopt;
  };
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_SUITE_BEGIN("comm/blame_note");

TEST_CASE("the rank that is blamed last is noted, with who blames it") {
  const test::TempDirectory folder;
  const auto file = folder.path() / "2.blame";
  const auto blame = blame_note(naming(file), {2}, 4);
  REQUIRE(blame);
  CHECK_FALSE(std::filesystem::exists(file));
  blame({3});
  blame({1});
  CHECK(text_of(file) == "2 4 1\n");
  blame({2});
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("a job that is joined after a failure begins without a note") {
  const test::TempDirectory folder;
  const auto file = folder.path() / "2.blame";
  blame_note(naming(file), {2}, 4)({1});
  const auto blame = blame_note(naming(file), {2}, 3);
  CHECK_FALSE(std::filesystem::exists(file));
  blame({0});
  CHECK(text_of(file) == "2 3 0\n");
}

TEST_CASE(
    "a lone rank, and one without the variable, write no note, and a bad path is no failure") {
  const test::TempDirectory folder;
  CHECK_FALSE(blame_note(naming(folder.path() / "note"), {0}, 1));
  CHECK_FALSE(blame_note([](const std::string&) { return std::nullopt; }, {0}, 2));
  CHECK_NOTHROW(blame_note(naming(folder.path() / "none" / "note"), {0}, 2)({1}));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
