#include <doctest/doctest.h>

#include "provision/first_contact.hpp"
#include "provision/lifecycle.hpp"
#include "support/failure.hpp"
#include "workshop.hpp"

namespace fastgpu::provision {
namespace {

using test::failure_of;
using test::kDemo;
using test::mentions;
using test::sample_spec;
using test::WorkshopWorld;
const Mount kModels{"nas:/a", "/models"};

void with_models(state::CloudSpec& spec) {
  spec.mounts = {kModels};
}

void without(state::CloudSpec& spec) {
  spec.mounts.clear();
}

/// A world whose provider is a cloud.
struct MountingWorld : WorkshopWorld {
  MountingWorld() {
    tools.providers = [this](const std::string&) -> Provider& { return shop.provider; };
  }
  ClusterSpec spec() const {
    ClusterSpec spec = sample_spec();
    spec.provider = "aws";
    spec.provider_spec = state::CloudSpec{};
    return spec;
  }
  std::vector<Mount> on_record() const { return shop.store.find_cluster(kDemo)->cloud().mounts; }
};

/// A cluster that is made with its mount.
struct MountedWorld : MountingWorld {
  MountedWorld() {
    ClusterSpec wanted = spec();
    wanted.provider_spec = state::CloudSpec{.mounts = {kModels}};
    create_cluster(tools, wanted, OnFailure::remove);
  }
  std::vector<Mount> on(const std::string& node) {
    return shop.reachability.storage_of[node].mounts;
  }
};

TEST_SUITE_BEGIN("provision/change_storage");

TEST_CASE("nodes that are made, added or replaced get the storage that their cluster has") {
  MountedWorld world;
  CHECK(world.on("demo-1") == std::vector{kModels});
  scale_cluster(world.tools, kDemo, 3);
  CHECK(world.on("demo-2") == std::vector{kModels});
  world.shop.provider.lose_machine(
      world.shop.store.nodes(world.shop.store.find_cluster(kDemo)->id)[0].token);
  world.shop.reachability.storage_of.clear();
  replace_lost_nodes(world.tools, kDemo);
  CHECK(world.on("demo-0") == std::vector{kModels});
}

TEST_CASE("a cluster without storage is never asked to mount any") {
  WorkshopWorld world;
  world.create();
  stop_cluster(world.tools, kDemo);
  start_cluster(world.tools, kDemo);
  CHECK(world.shop.reachability.attach_calls == 0);
}

TEST_CASE("nodes that start get it again, and a start that failed over it is repeated") {
  MountedWorld world;
  stop_cluster(world.tools, kDemo);
  world.shop.reachability.storage_of.clear();
  start_cluster(world.tools, kDemo);
  CHECK(world.on("demo-0") == std::vector{kModels});
  world.shop.reachability.storage_of.clear();
  start_cluster(world.tools, kDemo);
  CHECK(world.on("demo-1") == std::vector{kModels});
}

TEST_CASE("nodes that nobody waited for get it when they are met, and not before") {
  MountingWorld world;
  const auto view =
      create_cluster(world.tools, world.spec(), OnFailure::remove, Until::accepted).view;
  change_storage(world.tools, kDemo, with_models);
  start_cluster(world.tools, kDemo);
  CHECK(world.shop.reachability.attach_calls == 0);
  meet_nodes(world.tools, kDemo, view.nodes);
  CHECK(world.shop.reachability.storage_of["demo-1"].mounts == std::vector{kModels});
}

TEST_CASE("a mount is written down before a node has it, so that the same words go on") {
  MountingWorld world;
  create_cluster(world.tools, world.spec(), OnFailure::remove);
  world.shop.reachability.failures.emplace("demo-1", Error(ErrorKind::remote, "access denied"));
  const Error e = failure_of([&] { change_storage(world.tools, kDemo, with_models); });
  CHECK(mentions(e, "demo-1: access denied"));
  CHECK(world.on_record() == std::vector{kModels});
  world.shop.reachability.failures.clear();
  change_storage(world.tools, kDemo, with_models);
  CHECK(world.shop.reachability.storage_of["demo-1"].mounts == std::vector{kModels});
}

TEST_CASE("the last mount that is taken away is taken from the nodes") {
  MountedWorld world;
  change_storage(world.tools, kDemo, without);
  CHECK(world.on("demo-0").empty());
  CHECK(world.shop.reachability.attach_calls == 2);
}

TEST_CASE("nothing is taken from a node that is stopped, and would mount it again") {
  MountedWorld world;
  stop_cluster(world.tools, kDemo);
  const Error e = failure_of([&] { change_storage(world.tools, kDemo, without); });
  CHECK(e.kind() == ErrorKind::conflict);
  CHECK(mentions(e, "fastgpu start cluster demo"));
  CHECK(world.on_record() == std::vector{kModels});
  change_storage(world.tools, kDemo, with_models);  // What stays the same may.
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision
