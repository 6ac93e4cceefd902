#include <doctest/doctest.h>

#include <algorithm>

#include "provision/journal.hpp"
#include "provision/lifecycle.hpp"
#include "provision/settle.hpp"
#include "workshop.hpp"

namespace fastgpu::provision {
namespace {

using state::NodeState;
using test::kDemo;
using test::WorkshopWorld;

/// A cluster of two nodes. A change of it was killed.
struct KilledWorld : WorkshopWorld {
  state::Cluster cluster = create().cluster;
  std::vector<state::Node> nodes = shop.store.nodes(cluster.id);

  /// Leaves a node as a killed run leaves it.
  void leave(state::Node node, NodeState state, std::string_view action) {
    node.state = state;
    shop.store.put_node(node);
    open_node_intent(shop.store, node, action);
  }

  /// Returns the number of machines that are paid for.
  long paid() {
    refresh_cluster(tools, kDemo);
    const auto runs = shop.store.runs(cluster.id);
    return std::ranges::count_if(runs, [](const state::Run& run) { return !run.ended; });
  }
};

TEST_SUITE_BEGIN("provision/refresh");

TEST_CASE("a node whose removal was killed is paid for until its machine is gone") {
  KilledWorld world;
  CHECK(world.paid() == 2);
  world.leave(world.nodes[1], NodeState::deleting, kDeleteNode);
  CHECK(world.paid() == 2);
  world.shop.provider.lose_machine(world.nodes[1].token);
  CHECK(world.paid() == 1);
  CHECK(world.shop.store.nodes(world.cluster.id)[1].state == NodeState::deleting);
}

TEST_CASE("a node whose creation was killed is paid for from the first sight of its machine") {
  KilledWorld world;
  state::Node added = world.nodes[1];
  added.index = 7;
  added.name = {"demo-7"};
  added.token = "token7";
  added.instance_id.clear();
  world.leave(added, NodeState::creating, kCreateNode);
  CHECK(world.paid() == 2);
  world.shop.provider.add_machine(world.cluster.id.value, "token7");
  CHECK(world.paid() == 3);
}

TEST_CASE("a machine that was just requested and is not listed yet is neither gone nor there") {
  const std::vector<state::Node> nodes = {
      {.index = 1, .name = {"a"}, .state = NodeState::creating, .token = "a"},
      {.index = 2, .name = {"b"}, .state = NodeState::deleting, .token = "b"},
      {.index = 3, .name = {"c"}, .state = NodeState::running, .token = "c"},
      {.index = 4, .name = {"d"}, .state = NodeState::deleting, .token = "d"}};
  const std::vector<Instance> found = {
      {.index = 4, .id = "i", .token = "d", .state = InstanceState::stopped}};
  CHECK(use_in_change(nodes, found, {NodeName{"a"}}) ==
        std::map<int, MachineUse>{{2, MachineUse::is_off}, {4, MachineUse::is_off}});
}

TEST_CASE("a command that is cancelled waits for no answer of the place") {
  KilledWorld world;
  world.leave(world.nodes[1], NodeState::deleting, kDeleteNode);
  world.shop.cancel.request();
  const auto kind_of = [](auto operation) { return failure_of([&] { operation(); }).kind(); };
  CHECK(kind_of([&] { refresh_cluster(world.tools, kDemo); }) == ErrorKind::interrupted);
  CHECK(kind_of([&] { look_before_change(world.tools, kDemo); }) == ErrorKind::interrupted);
  CHECK(kind_of([&] { plan_scale(world.tools, kDemo, 3); }) == ErrorKind::interrupted);
  CHECK(kind_of([&] { settle(world.tools); }) == ErrorKind::interrupted);
  CHECK(kind_of([&] { scale_cluster(world.tools, kDemo, 3); }) == ErrorKind::interrupted);
  CHECK(world.shop.provider.machines() == 2);
}

TEST_CASE("a change that fails reports its own reason where the place answers no more") {
  KilledWorld world;
  world.shop.provider.stop_failures.emplace("demo-1", Error(ErrorKind::capacity, "it is busy"));
  world.shop.provider.unlisted_after_stop = Error(ErrorKind::transient, "no answer");
  const Error failure = failure_of([&] { stop_cluster(world.tools, kDemo); });
  CHECK(std::string(failure.what()).find("it is busy") != std::string::npos);
  world.shop.provider.unlisted.reset();
  world.shop.provider.unlisted_after_stop.reset();
  settle(world.tools);
  CHECK(world.shop.store.open_intents().empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision
