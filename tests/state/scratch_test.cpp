#include "state/scratch.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "support/child.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::state {
namespace {

namespace fs = std::filesystem;

void put_file(const fs::path& directory) {
  fs::create_directory(directory / "in");
  std::ofstream(directory / "in" / "file") << "text";
}

std::ptrdiff_t entries_of(const fs::path& directory) {
  return std::distance(fs::directory_iterator(directory), {});
}

TEST_SUITE_BEGIN("state/scratch");

TEST_CASE("a scratch directory goes with all that is in it, and others' stay") {
  const test::TempDirectory state;
  std::optional<ScratchDirectory> mine(std::in_place, state.path());
  const ScratchDirectory other(state.path());
  put_file(mine->path());
  put_file(other.path());
  CHECK(mine->path() != other.path());
  const fs::path gone = mine->path();
  mine.reset();
  CHECK(!fs::exists(gone));
  CHECK(fs::exists(other.path() / "in" / "file"));
}

TEST_CASE("what a killed process leaves, the next one removes") {
  const test::TempDirectory state;
  {
    test::Child child([&] {
      const ScratchDirectory scratch(state.path());
      put_file(scratch.path());
      ::raise(SIGKILL);
      return 0;
    });
    CHECK(child.wait().signal == SIGKILL);
  }
  CHECK(entries_of(state.path() / "scratch") == 1);
  const ScratchDirectory next(state.path());
  CHECK(entries_of(state.path() / "scratch") == 1);
  CHECK(fs::is_empty(next.path()));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::state
