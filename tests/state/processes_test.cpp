// Several processes on one state directory, and processes that die.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/pipe.hpp"
#include "sample.hpp"
#include "state/directory.hpp"
#include "state/lock.hpp"
#include "state/store.hpp"
#include "support/child.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::state {
namespace {

using namespace std::chrono_literals;
using test::Child;
using test::failure_of;
using test::in_child;
using test::sample_cluster;
using test::sample_intent;
using test::sample_node;
using test::TempDirectory;

int add_intents(const std::filesystem::path& directory, int count) {
  Store store(directory);
  for (int i = 0; i < count; ++i)
    store.open_intent(sample_intent(std::to_string(i)));
  return 0;
}

/// One change of several rows that only make sense together, over and over.
int write_pairs_for_ever(const std::filesystem::path& directory) {
  Store store(directory);
  for (int i = 0;; i = (i + 1) % 50) {
    store.atomically([&] {
      for (const Intent& intent : store.open_intents())
        store.close_intent(intent.id);
      for (const Node& node : store.nodes({"0badcafe"}))
        store.erase_node(node.cluster, node.index);
    });
    store.atomically([&] {
      store.put_node(sample_node(2 * i));
      store.open_intent(sample_intent("pair"));
      store.put_node(sample_node(2 * i + 1));
    });
  }
}

/// A child that holds the lock until it is killed, and is known to.
class Holder {
 public:
  explicit Holder(const std::filesystem::path& directory)
      : child_([&directory, this] {
          const Cancel cancel;
          const Store store(directory);
          const ClusterLock lock(store, {"demo"}, 0ms, cancel);
          [[maybe_unused]] const auto told = ::write(pipe_.write_end.get(), "x", 1);
          for (;;)
            ::pause();
          return 0;
        }) {
    char told = 0;
    REQUIRE(::read(pipe_.read_end.get(), &told, 1) == 1);
  }
  void kill() {
    child_.kill();
    child_.wait();
  }

 private:
  Pipe pipe_ = make_pipe();
  Child child_;
};

TEST_SUITE_BEGIN("state/processes");

TEST_CASE("two processes that make the same store at once both succeed") {
  for (int round = 0; round < 5; ++round) {
    const TempDirectory temp;
    Child a([&] { return add_intents(temp.path(), 20); });
    Child b([&] { return add_intents(temp.path(), 20); });
    CHECK(a.wait().status == 0);
    CHECK(b.wait().status == 0);
    CHECK(Store(temp.path()).open_intents().size() == 40);
  }
}

TEST_CASE("a change waits for those of other processes as long as the limit says") {
  const TempDirectory temp;
  Store writer(temp.path());
  Store other(temp.path());
  writer.atomically([&] {
    writer.open_intent(sample_intent("a"));
    other.wait_longer(0ms);
    const Error e = failure_of([&] { other.open_intent(sample_intent("b")); });
    CHECK(e.kind() == ErrorKind::conflict);
    CHECK(std::string(e.what()).find(temp.path().string()) != std::string::npos);
  });
  other.wait_longer(1min);
  std::jthread late;
  writer.atomically([&] {
    writer.open_intent(sample_intent("c"));
    late = std::jthread([&] { other.open_intent(sample_intent("d")); });
    std::this_thread::sleep_for(20ms);
  });
  late.join();
  CHECK(writer.open_intents().size() == 3);
}

TEST_CASE("many processes that write again and again all get their turns") {
  constexpr int kWriters = 12;
  const TempDirectory temp;
  Store(temp.path()).insert_cluster(sample_cluster());
  const auto write = [&] {
    Store store(temp.path());
    for (int i = 0; i < 25; ++i)
      store.atomically([&] {
        store.open_intent(sample_intent("x"));
        std::this_thread::sleep_for(2ms);  // A transaction that takes its time.
      });
    return 0;
  };
  std::vector<std::unique_ptr<Child>> writers;
  for (int i = 0; i < kWriters; ++i)
    writers.push_back(std::make_unique<Child>(write));
  for (const auto& writer : writers)
    CHECK(writer->wait().status == 0);
  CHECK(Store(temp.path()).open_intents().size() == kWriters * 25);
}

TEST_CASE("the version changes with each change, and not by reading") {
  const TempDirectory temp;
  Store store(temp.path());
  Store other(temp.path());
  const auto before = store.version();
  CHECK(store.open_intents().empty());
  CHECK(store.version() == before);
  other.open_intent(sample_intent("a"));
  const auto after_theirs = store.version();
  CHECK(after_theirs != before);
  store.open_intent(sample_intent("b"));
  CHECK(store.version() != after_theirs);
}

TEST_CASE("two processes that want the same name: one has it, the other a conflict") {
  const TempDirectory temp;
  const auto insert = [&](const std::string& id) {
    try {
      Store(temp.path()).insert_cluster(sample_cluster("demo", id));
      return 0;
    } catch (const Error& e) {
      return e.kind() == ErrorKind::conflict ? 1 : 2;
    }
  };
  Child a([&] { return insert("aaaaaaaa"); });
  Child b([&] { return insert("bbbbbbbb"); });
  CHECK(a.wait().status + b.wait().status == 1);
}

TEST_CASE("a process killed at any instant leaves whole transactions only") {
  const TempDirectory temp;
  Store(temp.path()).insert_cluster(sample_cluster());
  std::mt19937 random(7);
  for (int round = 0; round < 25; ++round) {
    Child writer([&] { return write_pairs_for_ever(temp.path()); });
    std::this_thread::sleep_for(std::chrono::microseconds(2000 + random() % 30'000));
    writer.kill();
    CHECK(writer.wait().signal == SIGKILL);
    const Store store(temp.path());
    const std::size_t nodes = store.nodes({"0badcafe"}).size();
    CHECK(nodes % 2 == 0);
    CHECK(nodes == 2 * store.open_intents().size());
  }
}

TEST_CASE("a process killed while it makes the store does not spoil it for the next") {
  std::mt19937 random(11);
  for (int round = 0; round < 25; ++round) {
    const TempDirectory temp;
    Child maker([&] { return add_intents(temp.path(), 1); });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 8'000));
    maker.kill();
    maker.wait();
    Store store(temp.path());
    store.insert_cluster(sample_cluster());
    CHECK(store.clusters().size() == 1);
  }
}

TEST_CASE("a lock that is held is a conflict that names its holder") {
  const TempDirectory temp;
  Holder holder(temp.path());
  const Store store(temp.path());
  const Cancel cancel;
  const Error e = failure_of([&] { ClusterLock(store, {"demo"}, 30ms, cancel); });
  CHECK(e.kind() == ErrorKind::conflict);
  CHECK(std::string(e.what()).find("'demo'") != std::string::npos);
  CHECK(std::string(e.what()).find("process ") != std::string::npos);
  CHECK_FALSE(ClusterLock::try_lock(store, {"demo"}));
  CHECK(ClusterLock::try_lock(store, {"other"}));
}

TEST_CASE("a lock is free as soon as its holder is killed") {
  const TempDirectory temp;
  Holder holder(temp.path());
  holder.kill();
  const Store store(temp.path());
  CHECK(ClusterLock::try_lock(store, {"demo"}));
}

TEST_CASE("a cancel ends the wait for a lock at once") {
  const TempDirectory temp;
  Holder holder(temp.path());
  const Store store(temp.path());
  Cancel cancel;
  std::jthread user([&] { cancel.request(); });
  const Error e = failure_of([&] { ClusterLock(store, {"demo"}, 1h, cancel); });
  CHECK(e.kind() == ErrorKind::interrupted);
}

TEST_CASE("a lock's file stays with its cluster, and goes with it") {
  const TempDirectory temp;
  const std::filesystem::path file = temp.path() / "locks" / "demo.lock";
  const Cancel cancel;
  Store store(temp.path());
  {
    const ClusterLock lock(store, {"demo"}, 0ms, cancel);
    store.insert_cluster(sample_cluster());
  }
  CHECK(std::filesystem::exists(file));
  {
    const ClusterLock lock(store, {"demo"}, 0ms, cancel);
    CHECK_FALSE(ClusterLock::try_lock(store, {"demo"}));
    store.erase_cluster(sample_cluster().id);
  }
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("a process that waited for a lock while the cluster was deleted leaves no file") {
  const TempDirectory temp;
  Store store(temp.path());
  store.insert_cluster(sample_cluster());
  Holder holder(temp.path());
  test::Child waiter([&] {
    const Store own(temp.path());
    const Cancel cancel;
    const ClusterLock lock(own, {"demo"}, 30s, cancel);
    return own.find_cluster(ClusterName{"demo"}) ? 1 : 0;
  });
  std::this_thread::sleep_for(50ms);
  store.erase_cluster(sample_cluster().id);
  holder.kill();
  CHECK(waiter.wait().status == 0);
  CHECK(std::filesystem::is_empty(temp.path() / "locks"));
}

TEST_CASE("a lock that is a link or no regular file is refused") {
  const TempDirectory temp;
  const Store store(temp.path());
  make_private_directory(temp.path() / "locks");
  std::filesystem::create_symlink(temp.path() / "elsewhere", temp.path() / "locks" / "demo.lock");
  CHECK(failure_of([&] { ClusterLock::try_lock(store, {"demo"}); }).kind() == ErrorKind::local);
  CHECK_FALSE(std::filesystem::exists(temp.path() / "elsewhere"));
  REQUIRE(::mkfifo((temp.path() / "locks" / "pipe.lock").c_str(), 0600) == 0);
  CHECK(failure_of([&] { ClusterLock::try_lock(store, {"pipe"}); }).kind() == ErrorKind::local);
}

TEST_CASE("a lock cannot leave its folder by its name") {
  const TempDirectory temp;
  const Store store(temp.path());
  CHECK(failure_of([&] { ClusterLock::try_lock(store, {"../x"}); }).kind() == ErrorKind::usage);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::state
