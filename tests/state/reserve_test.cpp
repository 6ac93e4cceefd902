#include "state/reserve.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>

#include "base/unique_fd.hpp"
#include "sample.hpp"
#include "state/lock.hpp"
#include "state/store.hpp"
#include "support/child.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::state {
namespace {

namespace fs = std::filesystem;
using test::failure_of;
using test::in_child;
using test::sample_cluster;
using test::sample_node;
using test::TempDirectory;

constexpr int kReserveSkipped = 77;
constexpr int kNodes = 20;

/// A small disk of this process's own at `place`; false where we may not have one.
bool mount_disk(const fs::path& place, const char* size) {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", place.c_str(), "tmpfs", 0, size) == 0;
}

/// Writes until there is no room for another byte.
void fill_disk(const fs::path& file) {
  static constexpr std::array<char, 4096> kZeros{};
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  for (const std::size_t piece : {kZeros.size(), std::size_t{1}})
    while (::write(fd.get(), kZeros.data(), piece) > 0) {
    }
}

void make_cluster(Store& store) {
  store.insert_cluster(sample_cluster());
  for (int i = 0; i < kNodes; ++i)
    store.put_node(sample_node(i));
}

/// What a deletion writes, step by step.
void delete_cluster(Store& store) {
  const Cancel cancel;
  const ClusterLock lock(store, sample_cluster().name, std::chrono::milliseconds(0), cancel);
  store.atomically([&] {
    for (Node node : store.nodes(sample_cluster().id)) {
      node.state = NodeState::deleting;
      store.put_node(node);
      store.open_intent(test::sample_intent(node.token));
    }
  });
  for (const Intent& intent : store.open_intents())
    store.close_intent(intent.id);
  store.erase_cluster(sample_cluster().id);
}

TEST_SUITE_BEGIN("state/reserve");

TEST_CASE("the reserve is a quarter of what is free, and 4 MiB at most") {
  struct Case {
    std::uint64_t free, size;
  };
  constexpr std::uint64_t kMiB = 1U << 20U;
  for (const Case& c :
       {Case{0, 0}, Case{100'000, 0}, Case{kMiB, kMiB / 4}, Case{kMiB + 7, kMiB / 4},
        Case{8 * kMiB, 2 * kMiB}, Case{16 * kMiB, 4 * kMiB}, Case{~0ULL, 4 * kMiB}})
    CHECK(reserve_for({c.free}).count == c.size);
}

TEST_CASE("a cluster can be deleted on a disk without a single free byte, again and again") {
  const TempDirectory temp;
  const auto end = in_child([&] {
    if (!mount_disk(temp.path(), "size=8m")) return kReserveSkipped;
    for (int round = 0; round < 30; ++round) {
      {
        Store store(temp.path());
        make_cluster(store);
        const ClusterLock lock(store, sample_cluster().name, std::chrono::seconds(0), Cancel());
      }
      fill_disk(temp.path() / "ballast");
      Store store(temp.path());
      delete_cluster(store);
      if (!store.clusters().empty()) return 1;
      if (!Store(temp.path()).open_intents().empty()) return 2;
      fs::remove(temp.path() / "ballast");
    }
    return 0;
  });
  if (end.status != kReserveSkipped) CHECK(end.status == 0);
}

TEST_CASE("a disk without a free inode does not stand in the way either") {
  const TempDirectory temp;
  const auto end = in_child([&] {
    if (!mount_disk(temp.path(), "size=8m,nr_inodes=40")) return kReserveSkipped;
    {
      Store store(temp.path());
      make_cluster(store);
      const ClusterLock lock(store, sample_cluster().name, std::chrono::seconds(0), Cancel());
    }
    for (int i = 0; UniqueFd(::open((temp.path() / std::to_string(i)).c_str(), O_CREAT, 0600));
         ++i) {
    }
    Store store(temp.path());
    delete_cluster(store);
    return store.clusters().empty() ? 0 : 1;
  });
  if (end.status != kReserveSkipped) CHECK(end.status == 0);
}

TEST_CASE("something new is not begun on a full disk") {
  const TempDirectory temp;
  const auto end = in_child([&] {
    if (!mount_disk(temp.path(), "size=8m")) return kReserveSkipped;
    require_room(temp.path());
    fill_disk(temp.path() / "ballast");
    const Error e = failure_of([&] { require_room(temp.path()); });
    return e.kind() == ErrorKind::capacity && test::mentions(e, temp.path().string()) ? 0 : 1;
  });
  if (end.status != kReserveSkipped) CHECK(end.status == 0);
}

TEST_CASE("a database that is put back from a copy does not meet pages of a later time") {
  const TempDirectory temp;
  const fs::path database = temp.path() / "state.db";
  make_cluster(*std::make_unique<Store>(temp.path()));
  fs::copy_file(database, temp.path() / "copy");
  Store(temp.path()).erase_cluster(sample_cluster().id);
  fs::remove(database);
  fs::rename(temp.path() / "copy", database);
  CHECK(Store(temp.path()).nodes(sample_cluster().id).size() == kNodes);
}

TEST_CASE("what the store has read is the same with the log kept, and after a kill") {
  const TempDirectory temp;
  in_child([&] {
    Store store(temp.path());
    make_cluster(store);
    return ::raise(SIGKILL);
  });
  for (int round = 0; round < 3; ++round) {
    Store store(temp.path());
    CHECK(store.nodes(sample_cluster().id).size() == kNodes);
    CHECK(fs::file_size(temp.path() / "state.db-wal") >= (64U << 10U));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::state
