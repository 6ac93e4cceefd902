#include "base/path_trust.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/error.hpp"
#include "base/file_status.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu {
namespace {

namespace fs = std::filesystem;
using test::failure_of;
using test::TempDirectory;

constexpr uid_t kStranger = 54'321;
const std::vector<uid_t> kUs = {::geteuid()};

fs::path make_folder(const fs::path& path, mode_t mode) {
  fs::create_directory(path);
  REQUIRE(::chmod(path.c_str(), mode) == 0);
  return path;
}

fs::path make_file(const fs::path& path, mode_t mode) {
  std::ofstream(path) << "x";
  REQUIRE(::chmod(path.c_str(), mode) == 0);
  return path;
}

/// The part that is weak, or "" for none.
std::string weak_part(const fs::path& path) {
  const auto weakness = find_weakness(path, kUs);
  return weakness ? weakness->part.string() : "";
}

TEST_SUITE_BEGIN("base/path_trust");

TEST_CASE("a path of our own, one in a sticky folder of all, and one that is not there are fine") {
  const TempDirectory temp;
  const fs::path open = make_folder(temp.path() / "open", 01777);
  make_folder(open / "ours", 0755);
  CHECK(weak_part(make_file(open / "ours" / "file", 0644)).empty());
  CHECK(weak_part(open / "ours" / "missing" / "further").empty());
  CHECK(weak_part("/etc/passwd").empty());
  CHECK(weak_part("/").empty());
}

TEST_CASE("a folder that others may write is weak wherever it is on the way") {
  const TempDirectory temp;
  const fs::path open = make_folder(temp.path() / "open", 0777);
  make_folder(open / "ours", 0700);
  for (const fs::path& path : {open, open / "ours", open / "ours" / "file", open / "missing"})
    CHECK(weak_part(path) == open.string());
  CHECK(find_weakness(open, kUs)->reason == "may be written by others (mode 0777)");
  CHECK(find_weakness(open, kUs)->kind == Weakness::Kind::mode);
}

TEST_CASE("odd spellings of a path change nothing") {
  const TempDirectory temp;
  const fs::path open = make_folder(temp.path() / "open", 0777);
  make_folder(temp.path() / "ours", 0700);
  for (const char* const spelling : {"open/", "open/.", "./open", "ours/../open", "open//"})
    CHECK(weak_part(temp.path() / spelling) == open.string());
  CHECK(weak_part(open / ".." / "ours") == open.string());  // The kernel searches it on its way.
  CHECK(weak_part(temp.path() / "ours" / "..").empty());
}

TEST_CASE("a file that others may write is weak") {
  const TempDirectory temp;
  const fs::path file = make_file(temp.path() / "file", 0646);
  CHECK(weak_part(file) == file.string());
}

TEST_CASE("a link is followed, and what it leads through is looked at") {
  const TempDirectory temp;
  const fs::path open = make_folder(temp.path() / "open", 0777);
  make_folder(open / "inner", 0700);
  fs::create_symlink(open / "inner", temp.path() / "link");
  fs::create_symlink("open/inner", temp.path() / "relative");
  fs::create_symlink("missing", temp.path() / "dangling");
  fs::create_symlink("circle", temp.path() / "circle");
  CHECK(weak_part(temp.path() / "link" / "file") == open.string());
  CHECK(weak_part(temp.path() / "relative") == open.string());
  CHECK(weak_part(temp.path() / "dangling").empty());
  CHECK(failure_of([&] { weak_part(temp.path() / "circle"); }).kind() == ErrorKind::local);
}

TEST_CASE("what belongs to another account is weak: a folder, a file, a link in a sticky folder") {
  if (::geteuid() != 0) return;
  const TempDirectory temp;
  const fs::path open = make_folder(temp.path() / "open", 01777);
  const fs::path folder = make_folder(open / "folder", 0755);
  const fs::path file = make_file(open / "file", 0644);
  const fs::path link = open / "link";
  fs::create_symlink("/etc", link);
  for (const fs::path& path : {folder, file, link}) {
    REQUIRE(::lchown(path.c_str(), kStranger, kStranger) == 0);
    CHECK(weak_part(path) == path.string());
    CHECK(find_weakness(path, kUs)->reason == "belongs to uid 54321");
    CHECK_FALSE(find_weakness(path, {kStranger}));
  }
  CHECK(weak_part(folder / "missing") == folder.string());
  CHECK(weak_part(link / "passwd") == link.string());
}

TEST_CASE("a group may write where it has no member that is not trusted") {
  if (::geteuid() != 0) return;
  const TempDirectory temp;
  const fs::path folder = make_folder(temp.path() / "folder", 0770);
  REQUIRE(::chown(folder.c_str(), 0, 0) == 0);
  CHECK(weak_part(folder).empty());  // Root's own group.
  REQUIRE(::chown(folder.c_str(), 0, kStranger) == 0);
  CHECK(weak_part(folder) == folder.string());  // No group that anything is known of.
  REQUIRE(::chown(folder.c_str(), 0, 65'534) == 0);
  CHECK(weak_part(folder) == folder.string());  // The account nobody has it.
}

TEST_CASE("a part that may not be looked at is no missing one") {
  if (::geteuid() != 0) return;
  const TempDirectory temp;
  REQUIRE(::chmod(temp.path().c_str(), 0755) == 0);
  make_folder(temp.path() / "closed", 0700);
  const fs::path file = make_file(temp.path() / "closed" / "file", 0600);
  REQUIRE(::seteuid(kStranger) == 0);
  const Error weak = failure_of([&] { weak_part(file); });
  const Error status = failure_of([&] { find_status(file); });
  const Error there = failure_of([&] { path_exists(temp.path() / "closed" / "missing"); });
  const bool missing = path_exists(temp.path() / "missing");
  REQUIRE(::seteuid(0) == 0);
  CHECK(weak.kind() == ErrorKind::denied);
  CHECK(status.kind() == ErrorKind::denied);
  CHECK(there.kind() == ErrorKind::denied);
  CHECK_FALSE(missing);
  CHECK(path_exists(file));
  CHECK(failure_of([&] { path_exists(file / "below"); }).kind() == ErrorKind::local);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
