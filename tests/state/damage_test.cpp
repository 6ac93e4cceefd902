// State directories in a bad way: corrupt, foreign, newer, read-only, full.
#include <doctest/doctest.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>

#include "base/files.hpp"
#include "sample.hpp"
#include "state/directory.hpp"
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
using test::mentions;
using test::sample_cluster;
using test::sample_intent;
using test::sample_node;
using test::TempDirectory;

std::string bytes_of(const fs::path& path) {
  return read_file(path).value_or("");
}

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void run_sql(const fs::path& directory, const std::string& sql) {
  sqlite3* connection = nullptr;
  REQUIRE(sqlite3_open((directory / "state.db").c_str(), &connection) == SQLITE_OK);
  CHECK(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(connection);
}

/// A mount namespace of this process's own; false where we may not have one.
bool own_mounts() {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool make_read_only(const fs::path& path) {
  return ::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
         ::mount("none", path.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0;
}

constexpr int kSkipped = 77;

void check_end(const test::ChildEnd& end) {
  if (end.status == kSkipped) {
    MESSAGE("skipped: this user may not have a mount namespace of its own");
    return;
  }
  CHECK(end.status == 0);
  CHECK(end.signal == 0);
}

TEST_SUITE_BEGIN("state/damage");

TEST_CASE("a database of a newer version is refused with a sentence and stays as it is") {
  const TempDirectory temp;
  Store(temp.path()).insert_cluster(sample_cluster());
  run_sql(temp.path(), "PRAGMA journal_mode=DELETE; PRAGMA user_version=99");
  const std::string before = bytes_of(temp.path() / "state.db");
  const Error e = failure_of([&] { const Store store(temp.path()); });
  CHECK(e.kind() == ErrorKind::local);
  CHECK(mentions(e, "newer fastgpu"));
  CHECK(mentions(e, (temp.path() / "state.db").string()));
  CHECK(bytes_of(temp.path() / "state.db") == before);
  CHECK_FALSE(fs::exists(temp.path() / "state.db-wal"));
}

TEST_CASE("a newer version that stands only in the log of a dead process is seen, too") {
  const TempDirectory temp;
  Store(temp.path()).insert_cluster(sample_cluster());
  in_child([&] {
    sqlite3* connection = nullptr;
    sqlite3_open((temp.path() / "state.db").c_str(), &connection);
    sqlite3_exec(connection, "PRAGMA user_version=99", nullptr, nullptr, nullptr);
    return ::raise(SIGKILL);
  });
  const std::string before = bytes_of(temp.path() / "state.db");
  const std::string log = bytes_of(temp.path() / "state.db-wal");
  REQUIRE_FALSE(log.empty());
  const Error e = failure_of([&] { const Store store(temp.path()); });
  CHECK(mentions(e, "newer fastgpu"));
  CHECK(bytes_of(temp.path() / "state.db") == before);
  CHECK(bytes_of(temp.path() / "state.db-wal") == log);
}

TEST_CASE("a corrupt database is refused with its path and what to do") {
  const TempDirectory temp;
  Store(temp.path()).insert_cluster(sample_cluster());
  const std::string whole = bytes_of(temp.path() / "state.db");
  std::string scribbled = whole;
  std::fill(scribbled.begin() + 100, scribbled.end(), '\xa5');
  for (const std::string& bytes :
       {std::string("no database"), std::string(5000, 'x'), whole.substr(0, 60), scribbled}) {
    CAPTURE(bytes.size());
    write_bytes(temp.path() / "state.db", bytes);
    fs::remove(temp.path() / "state.db-wal");
    const Error e = failure_of([&] { Store(temp.path()).clusters(); });
    CHECK(e.kind() == ErrorKind::local);
    CHECK(mentions(e, "corrupt"));
    CHECK(mentions(e, (temp.path() / "state.db").string()));
    CHECK(mentions(e, "move it away"));
    CHECK(bytes_of(temp.path() / "state.db") == bytes);
  }
}

TEST_CASE("values that no fastgpu writes are refused, not guessed") {
  const TempDirectory temp;
  Store(temp.path()).insert_cluster(sample_cluster());
  Store(temp.path()).put_node(sample_node(0));
  run_sql(temp.path(), "UPDATE nodes SET host_keys='[1'");
  CHECK(failure_of([&] { Store(temp.path()).nodes({"0badcafe"}); }).kind() == ErrorKind::local);
  run_sql(temp.path(), "UPDATE clusters SET state='dancing'");
  CHECK(mentions(failure_of([&] { Store(temp.path()).clusters(); }), "dancing"));
}

TEST_CASE("somebody else's database is refused") {
  const TempDirectory temp;
  run_sql(temp.path(), "CREATE TABLE recipes(cake TEXT)");
  CHECK(mentions(failure_of([&] { const Store store(temp.path()); }), "not a database of fastgpu"));
}

TEST_CASE("a read-only state directory can be read and refuses to be written") {
  const TempDirectory temp;
  Store(temp.path()).insert_cluster(sample_cluster());
  const auto end = in_child([&] {
    if (!own_mounts() || !make_read_only(temp.path())) return kSkipped;
    Store store(temp.path());
    if (store.clusters().size() != 1 || store.writable()) return 1;
    if (failure_of([&] { store.put_node(sample_node(0)); }).kind() != ErrorKind::denied) return 2;
    if (failure_of([&] { store.open_intent(sample_intent("x")); }).kind() != ErrorKind::denied)
      return 3;
    const Cancel cancel;
    const Error e = failure_of([&] { ClusterLock(store, {"demo"}, {}, cancel); });
    return e.kind() == ErrorKind::denied ? 0 : 4;
  });
  check_end(end);
}

TEST_CASE("a read-only place without a state directory reads as empty") {
  const TempDirectory temp;
  const auto end = in_child([&] {
    if (!own_mounts() || !make_read_only(temp.path())) return kSkipped;
    const Store store(temp.path() / "fastgpu");
    return store.clusters().empty() && !store.writable() ? 0 : 1;
  });
  check_end(end);
}

TEST_CASE("a full disk is said to be full, and what was stored before is still there") {
  const TempDirectory temp;
  const auto end = in_child([&] {
    if (!own_mounts() || ::mount("none", temp.path().c_str(), "tmpfs", 0, "size=1m") != 0)
      return kSkipped;
    Store store(temp.path());
    store.insert_cluster(sample_cluster());
    Cluster large = sample_cluster();
    large.network = HostNetwork{std::string(64 * 1024, 'x')};
    const Error e = failure_of([&] {
      for (int i = 0; i < 100; ++i) {
        large.id.value = std::to_string(10'000'000 + i);
        large.name.value = "c" + std::to_string(i);
        store.insert_cluster(large);
      }
    });
    if (e.kind() != ErrorKind::capacity) return 1;
    if (!store.find_cluster(ClusterName{"demo"})) return 2;
    const Error key =
        failure_of([&] { write_private_file(temp.path() / "key", std::string(1 << 20, 'k')); });
    return key.kind() == ErrorKind::capacity && !fs::exists(temp.path() / "key") ? 0 : 3;
  });
  check_end(end);
}

TEST_CASE("a disk that is full from the start is said to be full") {
  const TempDirectory temp;
  const auto end = in_child([&] {
    if (!own_mounts() || ::mount("none", temp.path().c_str(), "tmpfs", 0, "size=64k") != 0)
      return kSkipped;
    write_bytes(temp.path() / "ballast", std::string(1 << 20, 'b'));
    return failure_of([&] { Store(temp.path()).insert_cluster(sample_cluster()); }).kind() ==
                   ErrorKind::capacity
               ? 0
               : 1;
  });
  check_end(end);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::state
