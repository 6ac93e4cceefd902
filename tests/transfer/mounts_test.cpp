// Destinations with other file systems, or other limits, somewhere below them.
#include "transfer/trees.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "support/failure.hpp"
#include "support/noise.hpp"

namespace fastgpu::transfer {
namespace {

using test::failure_of;
using test::noise;

TEST_SUITE_BEGIN("transfer/mounts");

/// A file system of its own on a directory; empty where that is not allowed here.
class Mount {
 public:
  Mount(const fs::path& where, const char* options) : where_(where) {
    fs::create_directories(where);
    is_there_ = ::mount("tmpfs", where.c_str(), "tmpfs", 0, options) == 0;
  }
  /// The directory `what` seen at `where`, too.
  Mount(const fs::path& what, const fs::path& where) : where_(where) {
    is_there_ = ::mount(what.c_str(), where.c_str(), nullptr, MS_BIND, nullptr) == 0;
  }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;
  ~Mount() {
    if (is_there_) ::umount2(where_.c_str(), MNT_DETACH);
  }
  explicit operator bool() const noexcept { return is_there_; }

 private:
  fs::path where_;
  bool is_there_ = false;
};

/// A project with data, at whose destination older things are.
class Project : public TreeWorld {
 public:
  Project() {
    put(from() / "p/src/a.py", "new a");
    put(from() / "p/data/x.bin", noise(300'000), 0440);
    put(from() / "p/data/deep/er/y", "y", 0755);
    put(from() / "p/data/sub/new", "new");
    fs::create_symlink("x.bin", from() / "p/data/link");
    put(to() / "p/src/a.py", "old a");
    fs::create_directories(to() / "p/data");
  }
  void copy() const { receive(stream_of({from() / "p"}), to()); }
  bool is_untouched() const {
    return test::read_file(to() / "p/src/a.py") == "old a" && !fs::exists(to() / "p/data/x.bin");
  }
};

std::vector<std::string> without_existing(const fs::path& root) {
  std::vector<std::string> lines = listing(root);
  std::erase_if(lines, [](const std::string& line) {  // What was there keeps its times.
    return line.starts_with("p ") || line.starts_with("p/src ") || line.starts_with("p/data ") ||
           line.starts_with("p/data/sub ");
  });
  return lines;
}

TEST_CASE("a copy goes into file systems that are mounted below its destination") {
  const Project project;
  const Mount disk(project.to() / "p/data", "size=10m");
  if (!disk) return;
  put(project.to() / "p/data/sub/old", "old");
  put(project.to() / "p/data/x.bin", "older");
  project.copy();
  CHECK(test::read_file(project.to() / "p/data/sub/old") == "old");
  fs::remove(project.to() / "p/data/sub/old");
  CHECK(without_existing(project.to()) == without_existing(project.from()));
}

TEST_CASE("a copy goes into a directory that is bound there from the same file system") {
  const Project project;
  const fs::path elsewhere = project.to().parent_path() / "elsewhere";
  fs::create_directory(elsewhere);
  const Mount bound(elsewhere, project.to() / "p/data");
  if (!bound) return;
  project.copy();
  CHECK(test::read_file(elsewhere / "deep/er/y") == "y");
  CHECK(without_existing(project.to()) == without_existing(project.from()));
}

TEST_CASE("where one file system has no room, nothing of the copy becomes visible") {
  const Project project;
  const Mount disk(project.to() / "p/data", "size=64k");
  if (!disk) return;
  const Error e = failure_of([&] { project.copy(); });
  CHECK(e.kind() == ErrorKind::capacity);
  CHECK(project.is_untouched());
  CHECK(fs::is_empty(project.to() / "p/data"));
  CHECK(std::distance(fs::directory_iterator(project.to()), fs::directory_iterator()) == 1);
}

TEST_CASE("where one directory takes nothing, nothing of the copy becomes visible") {
  const Project project;
  const Mount disk(project.to() / "p/data", "size=10m");
  if (!disk) return;
  REQUIRE(::mount(nullptr, (project.to() / "p/data").c_str(), nullptr, MS_REMOUNT | MS_RDONLY,
                  nullptr) == 0);
  CHECK_THROWS_AS(project.copy(), Error);
  CHECK(project.is_untouched());
}

TEST_CASE("a file on which something is mounted is not replaced, and nothing else either") {
  const Project project;
  put(project.from() / "other", "other");
  put(project.to() / "p/data/x.bin", "mounted on");
  const Mount bound(project.from() / "other", project.to() / "p/data/x.bin");
  if (!bound) return;
  CHECK(failure_of([&] { project.copy(); }).kind() == ErrorKind::conflict);
  CHECK(test::read_file(project.to() / "p/src/a.py") == "old a");
}

TEST_CASE("a user who is not root is told before anything moves what he may not write") {
  if (::geteuid() != 0) return;
  const Project project;
  fs::permissions(project.to(), fs::perms::all);
  fs::permissions(project.to().parent_path(), fs::perms::all);
  const std::string stream = stream_of({project.from() / "p"});
  const auto as_another = [&] {
    REQUIRE(::seteuid(65'532) == 0);
    const Error e = failure_of([&] { receive(stream, project.to()); });
    REQUIRE(::seteuid(0) == 0);
    return e.kind();
  };
  fs::permissions(project.to() / "p", fs::perms::all);
  fs::permissions(project.to() / "p/src", fs::perms::all);
  CHECK(as_another() == ErrorKind::denied);  // p/data is root's.
  CHECK(project.is_untouched());
  fs::permissions(project.to() / "p/data", fs::perms::all);
  fs::permissions(project.to() / "p/src", fs::perms::all | fs::perms::sticky_bit);
  CHECK(as_another() == ErrorKind::denied);  // a.py is root's, and stays.
  CHECK(project.is_untouched());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::transfer
