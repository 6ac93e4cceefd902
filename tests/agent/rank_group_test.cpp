#include "agent/jobs/rank_group.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/pipe.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMounts =
    "22 1 0:20 / /sys rw - sysfs sysfs rw\n"
    "30 22 0:26 / /sys/fs/cgroup\\040v2 rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";

TEST_SUITE_BEGIN("agent/rank_group");

TEST_CASE("the directory of a group is below the mount of cgroup v2") {
  CHECK(unified_group(kMounts, "4:memory:/x\n0::/user.slice/a.scope\n") ==
        fs::path("/sys/fs/cgroup v2/user.slice/a.scope"));
  CHECK(unified_group(kMounts, "0::/\n") == fs::path("/sys/fs/cgroup v2"));
  CHECK_FALSE(unified_group(kMounts, "4:memory:/x\n"));
  CHECK_FALSE(unified_group(kMounts, "0::/../other\n"));
  CHECK_FALSE(unified_group("30 22 0:26 / /sys/fs/cgroup rw - cgroup cgroup rw\n", "0::/\n"));
  CHECK_FALSE(unified_group("nonsense - cgroup2 \n", "0::/\n"));
}

TEST_CASE("a mount that shows a part of the groups is used for groups in that part alone") {
  const std::string mounts = "30 22 0:26 /docker/a /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
  CHECK(unified_group(mounts, "0::/docker/a/job\n") == fs::path("/sys/fs/cgroup/job"));
  CHECK(unified_group(mounts, "0::/docker/a\n") == fs::path("/sys/fs/cgroup"));
  CHECK_FALSE(unified_group(mounts, "0::/docker/ab\n"));
}

/// A job's folder that is removed at the end.
struct Folder {
  Folder() {
    std::string name = "/tmp/fastgpu-group-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
    fs::create_directories(path / "ranks");
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

/// A cgroup v2 that is mounted while the object lives, where this process may mount one.
struct MountedGroups {
  explicit MountedGroups(const fs::path& folder) : path(folder / "groups") {
    fs::create_directories(path);
    is_mounted = ::mount("none", path.c_str(), "cgroup2", 0, nullptr) == 0;
  }
  ~MountedGroups() {
    if (is_mounted) ::umount2(path.c_str(), MNT_DETACH);
  }
  fs::path path;
  bool is_mounted = false;
};

/// Starts, in a child that has entered a group, a process that leaves its session and its parent.
/// Returns its id; 0 if this machine does not let us make groups.
pid_t stray_in_group(const Folder& job, const std::string& id) {
  Pipe pipe = make_pipe();
  const pid_t child = ::fork();
  if (child == 0) {
    auto group = RankGroup::enter(job.path, id, 3);
    pid_t stray = 0;
    if (group) {
      stray = ::fork();
      if (stray == 0) {
        ::setsid();
        ::pause();
        ::_exit(0);
      }
      group->leave();
    }
    if (::write(pipe.write_end.get(), &stray, sizeof stray) != sizeof stray) ::_exit(1);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  pid_t stray = 0;
  REQUIRE(::read(pipe.read_end.get(), &stray, sizeof stray) == sizeof stray);
  return stray;
}

TEST_CASE("a process that has left its session ends with its group, and the group goes") {
  const Folder job;
  const MountedGroups mounted(job.path);
  const std::string id = "group-test-" + std::to_string(::getpid());
  const pid_t stray = stray_in_group(job, id);
  if (stray == 0) {
    MESSAGE("skipped: no group can be made here");
    return;
  }
  std::ifstream record(job.path / "ranks" / "3.group");
  std::string group;
  std::getline(record, group);
  CHECK(fs::exists(group));
  remove_empty_groups(job.path, id);
  CHECK(fs::exists(group));
  CHECK(::kill(stray, 0) == 0);
  end_groups(job.path, "another");
  CHECK(::kill(stray, 0) == 0);
  end_groups(job.path, id);
  std::ifstream stat("/proc/" + std::to_string(stray) + "/stat");
  std::string word, name, state;
  const bool is_alive = (stat >> word >> name >> state) && state != "Z" && state != "X";
  CHECK_FALSE(is_alive);
  CHECK_FALSE(fs::exists(group));
  CHECK_FALSE(fs::exists(job.path / "ranks" / "3.group"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
