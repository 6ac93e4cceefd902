#include "state/private_place.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sample.hpp"
#include "state/store.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::state {
namespace {

namespace fs = std::filesystem;
using test::failure_of;
using test::mentions;
using test::TempDirectory;

constexpr uid_t kStranger = 54'321;

TEST_SUITE_BEGIN("state/private_place");

TEST_CASE("a state directory that others may change is refused, with what to do") {
  const TempDirectory temp;
  const fs::path place = temp.path() / "open" / "state";
  Store{place};
  const fs::path parts[] = {place.parent_path(), place, place / "state.db", place / "clusters"};
  fs::create_directory(place / "clusters");
  for (const fs::path& part : parts) {
    CAPTURE(part.string());
    struct stat before {};
    REQUIRE(::stat(part.c_str(), &before) == 0);
    REQUIRE(::chmod(part.c_str(), 0777) == 0);
    const Error e = failure_of([&] { const Store store(place); });
    CHECK(e.kind() == ErrorKind::denied);
    CHECK(mentions(e, "the state directory " + place.string()));
    CHECK(mentions(e, part.string() + " may be written by others (mode 0777)"));
    CHECK(mentions(e, "`chmod go-w " + part.string() + "`"));
    REQUIRE(::chmod(part.c_str(), before.st_mode) == 0);
    CHECK_NOTHROW(Store{place});
  }
}

TEST_CASE("a path that is too long is shown in part, without advice about its owner") {
  const Error e = failure_of([] { require_private_place("/tmp/" + std::string(5'000, 'x')); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(mentions(e, "File name too long; choose another place with --state-dir"));
  CHECK_FALSE(mentions(e, "owner"));
  CHECK(std::string(e.what()).size() < 600);
}

TEST_CASE("a state directory that cannot be one is a usage error, without advice about its mode") {
  const TempDirectory temp;
  const fs::path file = temp.path() / "file";
  std::ofstream(file) << "x";
  REQUIRE(::chmod(file.c_str(), 0666) == 0);
  for (const fs::path& path : {fs::path("/proc/x"), file, file / "below"}) {
    CAPTURE(path.string());
    const Error e = failure_of([&] { const Store store(path); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(mentions(e, "the state directory " + path.string() + " cannot be used: "));
    CHECK(mentions(e, "choose another place with --state-dir"));
    CHECK_FALSE(mentions(e, "chmod"));
  }
}

TEST_CASE("a state directory of another account is refused, and none is made below one") {
  if (::geteuid() != 0) return;
  const TempDirectory temp;
  const fs::path place = temp.path() / "state";
  fs::create_directory(place);
  REQUIRE(::chown(place.c_str(), kStranger, kStranger) == 0);
  for (const fs::path& directory : {place, place / "below"}) {
    const Error e = failure_of([&] { const Store store(directory); });
    CHECK(e.kind() == ErrorKind::denied);
    CHECK(mentions(e, place.string() + " belongs to uid 54321"));
  }
  CHECK(fs::is_empty(place));
}

TEST_CASE("a state directory that may not be entered is denied, and not empty") {
  if (::geteuid() != 0) return;
  const TempDirectory temp;
  REQUIRE(::chmod(temp.path().c_str(), 0755) == 0);
  Store(temp.path() / "closed" / "state").insert_cluster(test::sample_cluster());
  REQUIRE(::seteuid(kStranger) == 0);
  const Error e = failure_of([&] { Store(temp.path() / "closed" / "state").clusters(); });
  const Error missing = failure_of([&] { Store(temp.path() / "closed" / "none").clusters(); });
  REQUIRE(::seteuid(0) == 0);
  CHECK(e.kind() == ErrorKind::denied);
  CHECK(mentions(e, (temp.path() / "closed").string()));
  CHECK(mentions(e, "Permission denied"));
  CHECK(missing.kind() == ErrorKind::denied);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::state
