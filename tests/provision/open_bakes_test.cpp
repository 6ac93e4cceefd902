#include "provision/open_bakes.hpp"

#include <doctest/doctest.h>

#include "provision/journal.hpp"
#include "support/failure.hpp"
#include "workshop.hpp"

namespace fastgpu::provision {
namespace {

using state::NodeState;
using test::failure_of;
using test::kDemo;
using test::mentions;
using test::WorkshopWorld;

/// A cluster of two nodes; an image of the second one was begun and not completed.
struct BakeWorld : WorkshopWorld {
  state::Cluster cluster = create().cluster;

  BakeWorld() { open_bake("demo-1"); }

  void open_bake(const std::string& node) {
    shop.store.open_intent({.id = {},
                            .cluster = cluster.id,
                            .action = std::string(kBakeImage),
                            .subject = node,
                            .token = "t",
                            .detail = state::ImageOrder{.name = "i", .environment = "train"}});
  }
};

TEST_SUITE_BEGIN("provision/open_bakes");

TEST_CASE("a node whose keys are only in its memory is not stopped, and the way out is named") {
  BakeWorld world;
  const Error e = failure_of([&] { stop_cluster(world.tools, kDemo); });
  CHECK(e.kind() == ErrorKind::conflict);
  CHECK(mentions(e, "stopping demo-1"));
  CHECK(mentions(e, "`fastgpu env bake train --cluster demo`"));
  for (const state::Node& node : world.shop.store.nodes(world.cluster.id))
    CHECK(node.state == NodeState::running);
}

TEST_CASE("a node of which an image is being made is not removed, and another one is") {
  BakeWorld world;
  CHECK(failure_of([&] { scale_cluster(world.tools, kDemo, 1); }).kind() == ErrorKind::conflict);
  CHECK(world.shop.provider.machines() == 2);
  world.shop.store.close_intent(world.shop.store.open_intents(world.cluster.id).at(0).id);
  world.open_bake("demo-0");
  CHECK(scale_cluster(world.tools, kDemo, 1).nodes.size() == 1);
}

TEST_CASE("a cluster with an open image can be deleted, and is left alone where it is stopped") {
  BakeWorld world;
  world.shop.provider.reboot();
  CHECK(stop_cluster(world.tools, kDemo).cluster.state == state::ClusterState::stopped);
  delete_cluster(world.tools, kDemo);
  world.check_nothing_left();
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision
