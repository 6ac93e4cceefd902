#include "cli/commands/node/file_sink.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "base/error.hpp"
#include "base/files.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::cli {
namespace {

using remote::OutputChannel;

std::string text_of(const std::filesystem::path& file) {
  return read_file(file).value_or("");
}

TEST_SUITE_BEGIN("cli/file_sink");

TEST_CASE("each host has a file for its output, and one for its errors if there are any") {
  const fastgpu::test::TempDirectory place;
  const auto folder = place.path() / "out";
  FileSink sink(folder, {"demo-0", "demo-1"});
  sink.output(0, OutputChannel::out, std::string("a\0b", 3));
  sink.output(0, OutputChannel::out, "\r\nc");
  sink.output(0, OutputChannel::err, "");
  sink.output(1, OutputChannel::err, "one ");
  sink.output(1, OutputChannel::err, "two");
  CHECK(text_of(folder / "demo-0") == std::string("a\0b\r\nc", 6));
  CHECK_FALSE(exists(folder / "demo-0.err"));
  CHECK_FALSE(sink.has_errors(0));
  CHECK(exists(folder / "demo-1"));
  CHECK(text_of(folder / "demo-1") == "");
  CHECK(text_of(folder / "demo-1.err") == "one two");
  CHECK(sink.has_errors(1));
}

TEST_CASE("files that are there are never overwritten, nor is anything made beside them") {
  const fastgpu::test::TempDirectory place;
  std::ofstream(place.path() / "demo-1.err") << "mine";
  const auto refused = fastgpu::test::failure_of([&] {
    FileSink(place.path(), {"demo-0", "demo-1"});
  });
  CHECK(refused.kind() == ErrorKind::conflict);
  CHECK(fastgpu::test::mentions(refused, "demo-1.err"));
  CHECK_FALSE(exists(place.path() / "demo-0"));
  CHECK(text_of(place.path() / "demo-1.err") == "mine");
}

TEST_CASE("a link in the place of a file is not followed") {
  const fastgpu::test::TempDirectory place;
  std::filesystem::create_symlink(place.path() / "elsewhere", place.path() / "demo-0");
  CHECK(fastgpu::test::failure_of([&] { FileSink(place.path(), {"demo-0"}); }).kind() ==
        ErrorKind::conflict);
  CHECK_FALSE(exists(place.path() / "elsewhere"));
}

TEST_CASE("a directory that cannot be made is named") {
  const fastgpu::test::TempDirectory place;
  const auto refused =
      fastgpu::test::failure_of([&] { FileSink(place.path() / "no" / "where", {"a"}); });
  CHECK(fastgpu::test::mentions(refused, "no/where"));
  std::ofstream(place.path() / "file") << "mine";
  const auto taken = fastgpu::test::failure_of([&] { FileSink(place.path() / "file", {"a"}); });
  CHECK(taken.kind() == ErrorKind::usage);
  CHECK(fastgpu::test::mentions(taken, "file' is not a directory"));
  CHECK(text_of(place.path() / "file") == "mine");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
