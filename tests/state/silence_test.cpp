#include "state/silence.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "support/temp_directory.hpp"

namespace fastgpu::state {
namespace {

namespace fs = std::filesystem;

TEST_SUITE_BEGIN("state/silence");

/// Returns the file of the note on a node of a cluster that has a directory.
fs::path file_in(const fs::path& directory) {
  const fs::path file = silence_file(directory, {"0badcafe"}, {"n1"});
  fs::create_directories(file.parent_path().parent_path());
  return file;
}

TEST_CASE("a node that has not answered is noted, and is not any more once it has") {
  const test::TempDirectory directory;
  const fs::path file = file_in(directory.path());
  CHECK(!find_silence(file));
  note_silence(file, "no connection within 10s\nand more");
  const auto silence = find_silence(file);
  REQUIRE(silence);
  CHECK(silence->reason == "no connection within 10s");
  CHECK(silence->since == silence->tried);
  end_silence(file);
  CHECK(!find_silence(file));
  end_silence(file);
}

TEST_CASE("a later attempt keeps the time of the first one") {
  const test::TempDirectory directory;
  const fs::path file = file_in(directory.path());
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "1000\n2000\nold\n";
  note_silence(file, "new");
  const auto silence = find_silence(file);
  REQUIRE(silence);
  CHECK(silence->since == TimePoint(std::chrono::milliseconds(1000)));
  CHECK(silence->tried > TimePoint(std::chrono::milliseconds(2000)));
  CHECK(silence->reason == "new");
}

TEST_CASE("a damaged note counts as none, and a cluster that is gone gets none") {
  const test::TempDirectory directory;
  const fs::path file = file_in(directory.path());
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "yesterday\n";
  CHECK(!find_silence(file));
  fs::remove_all(file.parent_path().parent_path());
  note_silence(file, "no connection");
  CHECK(!fs::exists(file.parent_path().parent_path()));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::state
