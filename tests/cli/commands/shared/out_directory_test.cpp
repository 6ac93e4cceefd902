#include "cli/commands/shared/out_directory.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "base/error.hpp"
#include "cli/commands/shared/out_file.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::cli {
namespace {

namespace fs = std::filesystem;
using fastgpu::test::failure_of;
using fastgpu::test::TempDirectory;

TEST_SUITE_BEGIN("cli/out_directory");

TEST_CASE("a directory that is there or can be made is taken, and nothing is left in it") {
  const TempDirectory place;
  for (const fs::path& path : {place.path(), place.path() / "new", place.path() / "a" / "b"}) {
    CHECK(OutDirectory("--to", path.string()).path() == path);
    CHECK(fs::is_empty(place.path()));
  }
  CHECK(OutDirectory("--to", ".").path() == ".");
}

TEST_CASE("what cannot be a directory is refused with the flag and the reason, in one sentence") {
  const TempDirectory place;
  const std::string file = (place.path() / "file").string();
  std::ofstream(file) << "x";
  const auto refusal = [](const std::string& path) {
    return failure_of([&] { OutDirectory("run job: --fetch-to", path); });
  };
  CHECK(refusal(file).kind() == ErrorKind::usage);
  CHECK(std::string(refusal(file).what()).find("run job: --fetch-to ") == 0);
  CHECK(std::string(refusal(file).what()).find(file + " is not a directory") != std::string::npos);
  CHECK(std::string(refusal(file + "/below").what()).find(file + " is not a directory") !=
        std::string::npos);
  CHECK(std::string(refusal("/proc/new").what()) ==
        "run job: --fetch-to /proc/new cannot be used: nothing can be written in /proc: No such "
        "file or directory; choose another place");
  CHECK(refusal("/proc/new").kind() == ErrorKind::usage);
  for (const std::string path : {"~", "~/out"})
    CHECK(std::string(refusal(path).what()) ==
          "run job: --fetch-to " + path +
              ": ~ is not expanded in paths of this machine: write the full path, or one that "
              "starts in the current directory");
  fs::create_symlink("nowhere", place.path() / "link");
  CHECK(refusal((place.path() / "link").string()).kind() == ErrorKind::usage);
}

TEST_CASE("a file in a directory that takes no files is refused before the work for it") {
  const Error e = failure_of([] { check_out_file({.path = "/proc/new.xml", .flag = "--junit"}); });
  CHECK(std::string(e.what()) ==
        "--junit /proc/new.xml cannot be used: nothing can be written in /proc: No such file or "
        "directory; choose another place");
  CHECK(e.kind() == ErrorKind::usage);
}

TEST_CASE("a directory that cannot be made any more is an error of the system with its path") {
  const TempDirectory place;
  const fs::path file = place.path() / "file";
  std::ofstream(file) << "x";
  const Error e = failure_of([&] { make_directories(file / "below"); });
  CHECK(std::string(e.what()) ==
        "making the directory " + (file / "below").string() + ": Not a directory");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
