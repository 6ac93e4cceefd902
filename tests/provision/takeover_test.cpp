#include "provision/takeover.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "provision/journal.hpp"
#include "provision/late_machines.hpp"
#include "provision/settle.hpp"
#include "support/failure.hpp"
#include "workshop.hpp"

namespace fastgpu::provision {
namespace {

using state::NodeState;
using test::failure_of;
using test::kDemo;
using test::WorkshopWorld;

/// As another state directory reads it from the head node.
ClusterRecord record_of(const WorkshopWorld& world) {
  const auto cluster = world.shop.store.find_cluster(kDemo);
  REQUIRE(cluster);
  ClusterRecord record{.cluster = *cluster, .nodes = world.shop.store.nodes(cluster->id)};
  record.cluster.provider = "local";
  return record;
}

std::vector<Instance> machines_of(WorkshopWorld& world, const ClusterRecord& record) {
  auto found = world.shop.provider.list(record.cluster, Cancel());
  for (Instance& instance : found)
    instance.token.clear();  // Clouds know nodes by their index.
  return found;
}

TEST_SUITE_BEGIN("provision/takeover");

TEST_CASE("nodes are as the provider finds them, with what the record knows") {
  WorkshopWorld world;
  world.create();
  const ClusterRecord record = record_of(world);
  std::vector<Instance> found = machines_of(world, record);
  found[0].state = InstanceState::stopped;
  found[1].index = 7;
  const Recovered all = recovered(record, found);
  CHECK(all.nodes[0].state == NodeState::stopped);
  CHECK(all.nodes[0].host_keys == record.nodes[0].host_keys);
  CHECK(all.nodes[1].state == NodeState::lost);
  REQUIRE(all.unrecorded.size() == 1);
  CHECK(all.unrecorded[0].index == 7);
}

TEST_CASE("a cluster that is adopted stands as if it had been made here") {
  WorkshopWorld there;
  there.create();
  const ClusterRecord record = record_of(there);
  WorkshopWorld here;
  const auto view =
      adopt_cluster(here.tools, record, machines_of(there, record), Unrecorded::refuse);
  CHECK(view.cluster.state == state::ClusterState::running);
  const auto nodes = here.shop.store.nodes(record.cluster.id);
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[1].host_keys == record.nodes[1].host_keys);
  CHECK(nodes[1].instance_id != "");
  CHECK(here.shop.store.open_intents().empty());
  CHECK_NOTHROW(adopt_cluster(here.tools, record, machines_of(there, record), Unrecorded::refuse));
}

TEST_CASE("what is known of an earlier time gives way, with what was unfinished then") {
  WorkshopWorld world;
  world.create();
  ClusterRecord record = record_of(world);
  open_node_intent(world.shop.store, record.nodes[1], kDeleteNode);
  const auto found = machines_of(world, record);
  record.nodes.pop_back();
  adopt_cluster(world.tools, record, std::span(found).first(1), Unrecorded::refuse);
  CHECK(world.shop.store.nodes(record.cluster.id).size() == 1);
  CHECK(our_intents(world.shop.store, record.cluster.id).empty());
}

TEST_CASE("machines that the record does not know are named, or ended by the next command") {
  WorkshopWorld there;
  there.create();
  ClusterRecord record = record_of(there);
  const auto found = machines_of(there, record);
  record.nodes.pop_back();
  WorkshopWorld here;
  const auto adopt = [&](Unrecorded what) { adopt_cluster(here.tools, record, found, what); };
  const Error refused = failure_of([&] { adopt(Unrecorded::refuse); });
  CHECK(refused.kind() == ErrorKind::conflict);
  CHECK(std::string(refused.what()).find(found[1].id) != std::string::npos);
  CHECK(here.shop.store.clusters().empty());
  adopt(Unrecorded::remove);
  CHECK(our_intents(here.shop.store, record.cluster.id).size() == 1);
  settle(here.tools);
  CHECK(here.shop.store.nodes(record.cluster.id).size() == 1);
}

TEST_CASE("a name that another cluster has here is a conflict") {
  WorkshopWorld there;
  there.create();
  const ClusterRecord record = record_of(there);
  WorkshopWorld here;
  here.create();
  const Error refused = failure_of(
      [&] { adopt_cluster(here.tools, record, machines_of(there, record), Unrecorded::refuse); });
  CHECK(refused.kind() == ErrorKind::conflict);
  CHECK(std::string(refused.what()).find("rename") != std::string::npos);
}

TEST_CASE("whoever has lost a cluster changes nothing of it, and may forget it") {
  WorkshopWorld world;
  world.create();
  CHECK(failure_of([&] { forget_cluster(world.tools, kDemo); }).kind() == ErrorKind::conflict);
  world.shop.provider.taken_by = "state directory them";
  for (const Error& refused :
       {failure_of([&] { delete_cluster(world.tools, kDemo); }),
        failure_of([&] { scale_cluster(world.tools, kDemo, 3); }),
        failure_of([&] { scale_cluster(world.tools, kDemo, 1); }),
        failure_of([&] { stop_cluster(world.tools, kDemo); }),
        failure_of([&] { start_cluster(world.tools, kDemo); }),
        failure_of([&] { change_shared(world.tools, kDemo, [](state::CloudSpec&) {}); })}) {
    CHECK(refused.kind() == ErrorKind::conflict);
    CHECK(std::string(refused.what()).find("state directory them") != std::string::npos);
  }
  CHECK(world.shop.provider.machines() == 2);
  CHECK(world.shop.store.open_intents().empty());
  CHECK_NOTHROW(refresh_cluster(world.tools, kDemo));
  forget_cluster(world.tools, kDemo);
  CHECK(world.shop.store.clusters().empty());
  CHECK(world.shop.provider.machines() == 2);
}

TEST_CASE("a cluster whose machines a cloud may list only later is not forgotten") {
  WorkshopWorld world;
  const ClusterView made = world.create();
  for (const state::Node& node : made.nodes)
    world.shop.provider.lose_machine(node.token);
  const auto is_refused = [&] {
    const Error refused = failure_of([&] { forget_cluster(world.tools, kDemo); });
    return refused.kind() == ErrorKind::conflict && !world.shop.store.clusters().empty();
  };
  open_node_intent(world.shop.store, made.nodes.front(), kMeetNode);
  CHECK(is_refused());
  close_node_intents(world.shop.store, made.cluster.id, made.nodes);
  state::Node without_address = made.nodes.back();
  without_address.address.clear();
  expect_late_machines(world.tools, std::vector{without_address});
  CHECK_FALSE(our_intents(world.shop.store, made.cluster.id).empty());
  CHECK(is_refused());
  for (const state::Intent& intent : our_intents(world.shop.store, made.cluster.id))
    world.shop.store.close_intent(intent.id);
  CHECK_NOTHROW(forget_cluster(world.tools, kDemo));
}

TEST_CASE("the owner of a cluster is known after its machines are gone, until it is taken back") {
  WorkshopWorld world;
  const ClusterView made = world.create();
  CHECK(refresh_cluster(world.tools, kDemo).owner.empty());
  world.shop.provider.taken_by = "state directory them";
  CHECK(refresh_cluster(world.tools, kDemo).owner == "state directory them");
  world.shop.provider.taken_by = "";
  CHECK(refresh_cluster(world.tools, kDemo).owner.empty());
  world.shop.provider.taken_by = "state directory them";
  refresh_cluster(world.tools, kDemo);
  for (const state::Node& node : made.nodes)
    world.shop.provider.lose_machine(node.token);
  CHECK(refresh_cluster(world.tools, kDemo).owner == "state directory them");
}

TEST_CASE("a cluster that is to be forgotten is asked about, which is reported until the answer") {
  const std::vector<std::string> wanted = {"> asking local for the machines of cluster demo", "<"};
  WorkshopWorld world;
  world.create();
  std::vector<std::string>& questions = world.shop.events.questions;
  questions.clear();
  CHECK(failure_of([&] { check_forgettable(world.tools, kDemo); }).kind() == ErrorKind::conflict);
  CHECK(questions == wanted);
  questions.clear();
  world.shop.provider.unlisted = Error(ErrorKind::transient, "no answer");
  CHECK(failure_of([&] { forget_cluster(world.tools, kDemo); }).kind() == ErrorKind::transient);
  CHECK(questions == wanted);
  questions.clear();
  world.shop.provider.unlisted.reset();
  world.shop.provider.taken_by = "state directory them";
  forget_cluster(world.tools, kDemo);
  CHECK(questions == wanted);
}

TEST_CASE("without credentials a cluster may be forgotten, and the reason comes back") {
  WorkshopWorld world;
  world.create();
  world.shop.provider.unlisted = Error(ErrorKind::transient, "no answer");
  CHECK(failure_of([&] { forget_cluster(world.tools, kDemo); }).kind() == ErrorKind::transient);
  world.shop.provider.unlisted = Error(ErrorKind::denied, "no credentials");
  CHECK(check_forgettable(world.tools, kDemo)->kind() == ErrorKind::denied);
  CHECK(world.shop.store.clusters().size() == 1);
  CHECK(forget_cluster(world.tools, kDemo)->kind() == ErrorKind::denied);
  CHECK(world.shop.store.clusters().empty());
}

TEST_CASE("what a killed change of the old owner left is not settled any more") {
  WorkshopWorld world;
  world.create();
  state::Node node = record_of(world).nodes[1];
  node.state = NodeState::deleting;
  world.shop.store.put_node(node);
  open_node_intent(world.shop.store, node, kDeleteNode);
  world.shop.provider.taken_by = "state directory them";
  const auto settled = settle(world.tools, HalfMade::remove);
  REQUIRE(settled.size() == 1);
  CHECK_FALSE(settled[0].outcome.ok());
  CHECK(world.shop.provider.machines() == 2);
}

TEST_CASE("others are kept away as long as a change goes on") {
  WorkshopWorld world;
  world.create();
  int held = 0;
  world.tools.hold = [&](const Tools&, const state::Cluster&) {
    ++held;
    return std::shared_ptr<void>(nullptr, [&](void*) { --held; });
  };
  world.shop.provider.on_create = [&] { CHECK(held == 1); };
  scale_cluster(world.tools, kDemo, 3);
  CHECK(held == 0);
  delete_cluster(world.tools, kDemo);
  CHECK(held == 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision
