// What nodes have run, and timers.
#include <doctest/doctest.h>
#include <sqlite3.h>

#include "sample.hpp"
#include "state/store.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::state {
namespace {

using test::sample_cluster;
using test::sample_node;
using test::TempDirectory;

struct OneNode {
  TempDirectory temp;
  Store store{temp.path()};
  Node node = sample_node(0);

  OneNode() {
    store.insert_cluster(sample_cluster());
    store.put_node(node);
  }
  std::vector<Run> now(NodeState state) {
    node.state = state;
    store.put_node(node);
    return runs();
  }
  std::vector<Run> runs() const { return store.runs(node.cluster); }
};

TEST_SUITE_BEGIN("state/runs");

TEST_CASE("a node runs from when it has a machine until it is seen stopped") {
  OneNode one;
  REQUIRE(one.runs().size() == 1);
  CHECK_FALSE(one.runs()[0].ended);
  one.store.put_node(one.node);
  CHECK(one.runs().size() == 1);
  const auto stopped = one.now(NodeState::stopped);
  REQUIRE(stopped.size() == 1);
  REQUIRE(stopped[0].ended);
  CHECK(*stopped[0].ended >= stopped[0].began);
  CHECK(one.now(NodeState::stopped).front().ended == stopped[0].ended);
}

TEST_CASE("a node that was asked for and has no machine yet does not run") {
  OneNode one;
  one.store.erase_node(one.node.cluster, 0);
  one.node = sample_node(1);
  one.node.instance_id.clear();
  CHECK(one.now(NodeState::creating).size() == 1);
  one.node.instance_id = "i-2";
  const auto runs = one.now(NodeState::creating);
  REQUIRE(runs.size() == 2);
  CHECK(runs[1].index == 1);
}

TEST_CASE("a stopped node does not run while it is deleted, a running one does") {
  OneNode one;
  CHECK_FALSE(one.now(NodeState::deleting)[0].ended);
  one.now(NodeState::stopped);
  const auto runs = one.now(NodeState::deleting);
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].ended);
}

TEST_CASE("what a removed node ran stays known, a removed cluster's is forgotten") {
  OneNode one;
  one.store.erase_node(one.node.cluster, 0);
  REQUIRE(one.runs().size() == 1);
  CHECK(one.runs()[0].ended);
  one.store.put_timer(one.node.cluster, {.nodes_have_order = true});
  one.store.erase_cluster(one.node.cluster);
  CHECK(one.runs().empty());
  CHECK_FALSE(one.store.timer(one.node.cluster));
}

TEST_CASE("a timer is read as it was put, and none is kept for a cluster that is gone") {
  OneNode one;
  const TimePoint time{std::chrono::milliseconds(1'700'000'000'000)};
  CHECK_FALSE(one.store.timer(one.node.cluster));
  one.store.put_timer(one.node.cluster, {.ends = time, .contact = time, .nodes_have_order = true});
  CHECK(one.store.timer(one.node.cluster)->ends == time);
  CHECK(one.store.timer(one.node.cluster)->nodes_have_order);
  one.store.put_timer(one.node.cluster, {.contact = time});
  CHECK_FALSE(one.store.timer(one.node.cluster)->ends);
  CHECK_FALSE(one.store.timer(one.node.cluster)->nodes_have_order);
  one.store.put_timer({"00000000"}, {.contact = time});
  CHECK_FALSE(one.store.timer({"00000000"}));
}

TEST_CASE("a database of the first version gets the new tables and keeps what it has") {
  const TempDirectory temp;
  Store(temp.path()).insert_cluster(sample_cluster());
  sqlite3* connection = nullptr;
  REQUIRE(sqlite3_open((temp.path() / "state.db").c_str(), &connection) == SQLITE_OK);
  CHECK(sqlite3_exec(connection, "DROP TABLE runs; DROP TABLE timers; PRAGMA user_version=1",
                     nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(connection);
  Store store(temp.path());
  CHECK(store.clusters().size() == 1);
  store.put_node(sample_node(0));
  CHECK(store.runs({"0badcafe"}).size() == 1);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::state
