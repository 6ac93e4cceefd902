#include "provision/shared_network.hpp"

#include <doctest/doctest.h>

#include "provision/gc.hpp"
#include "provision/journal.hpp"
#include "provision/settle.hpp"
#include "support/failure.hpp"
#include "workshop.hpp"

namespace fastgpu::provision {
namespace {

using namespace std::chrono_literals;
using state::ClusterState;
using test::failure_of;
using test::kDemo;
using test::mentions;
using test::sample_spec;
using test::WorkshopWorld;

/// A cluster `demo` in a cloud, whose network something else uses.
struct SharedWorld : WorkshopWorld {
  test::FakeProvider& cloud = shop.other;

  SharedWorld() {
    create_in_cloud(kDemo, "");
    cloud.network_in_use = Error(ErrorKind::conflict, "vpc-1 is used by eni-1");
  }

  /// Makes a cluster `other` in the network of `demo`.
  void create_other() { create_in_cloud({"other"}, "vpc-1"); }

  static ClusterSpec spec_of(const ClusterName& name, const std::string& vpc) {
    ClusterSpec spec = sample_spec();
    spec.name = name;
    spec.provider = "aws";
    spec.provider_spec =
        state::CloudSpec{.vpc = vpc, .places = {{.site = {"r", "ra"}, .type = "big"}}};
    return spec;
  }

  void create_in_cloud(const ClusterName& name, const std::string& vpc) {
    state::Cluster cluster =
        create_cluster(tools, spec_of(name, vpc), OnFailure::remove).view.cluster;
    cluster.network = state::CloudPlacement{.parts = {{"vpc", "vpc-1"}}};
    shop.store.update_cluster(cluster);
  }
};

TEST_SUITE_BEGIN("provision/shared_network");

TEST_CASE("a cluster whose network another one uses is deleted at once, except for that network") {
  SharedWorld world;
  world.create_other();
  delete_cluster(world.tools, kDemo);
  CHECK(world.cloud.machines() == 2);  // Those of the other cluster.
  REQUIRE(world.shop.events.left.size() == 1);
  CHECK(world.shop.events.left[0].find("vpc-1 stays: cluster other uses it") != std::string::npos);
  CHECK(world.cloud.releases.back().network == 0ms);
  const auto left = world.shop.store.find_cluster(kDemo);
  REQUIRE(left);
  CHECK(is_remainder(world.shop.store, *left));
}

TEST_CASE("the network goes with the last cluster in it") {
  SharedWorld world;
  world.create_other();
  delete_cluster(world.tools, kDemo);
  world.cloud.network_in_use.reset();
  delete_cluster(world.tools, {"other"});
  CHECK(world.cloud.networks() == 0);
  world.check_nothing_left();
}

TEST_CASE("a network that is still in use holds nobody up, and is named each time") {
  SharedWorld world;
  world.create_other();
  delete_cluster(world.tools, kDemo);
  for (const HalfMade half_made : {HalfMade::leave, HalfMade::remove}) {
    const auto settled = settle(world.tools, half_made);
    REQUIRE(settled.size() == 1);
    CHECK(settled[0].cluster == "demo");
    CHECK(settled[0].what == "could not finish its deletion");
    CHECK(mentions(settled[0].outcome.error(), "vpc-1"));
    CHECK(mentions(settled[0].outcome.error(), "cluster other"));
    CHECK(world.cloud.releases.back().network == 0ms);
  }
  CHECK(stop_cluster(world.tools, {"other"}).cluster.state == ClusterState::stopped);
}

TEST_CASE("a repeated deletion that finds only a network in use fails, and says who uses it") {
  SharedWorld world;
  delete_cluster(world.tools, kDemo);
  CHECK(world.cloud.releases.back().network == 2min);
  const Error e = failure_of([&] { delete_cluster(world.tools, kDemo); });
  CHECK(e.kind() == ErrorKind::conflict);
  CHECK(mentions(e, "vpc-1 is used by eni-1"));
  CHECK(world.cloud.releases.back().network == 0ms);
}

TEST_CASE("a deletion is told how much time is left for it") {
  WorkshopWorld world;
  world.create();
  world.tools.deadline = world.shop.clock.now() + 5s;
  delete_cluster(world.tools, kDemo);
  CHECK(world.shop.provider.releases.back().in_all == 5s);
}

TEST_CASE("a failed creation is taken back even if its time is over") {
  WorkshopWorld world;
  world.shop.provider.create_failures.emplace("demo-1", Error(ErrorKind::capacity, "no stock"));
  world.tools.deadline = world.shop.clock.now();
  failure_of([&] { world.create(); });
  CHECK(world.shop.provider.releases.back().in_all == std::chrono::milliseconds::max());
}

TEST_CASE("whoever makes a cluster in the network of another one is warned") {
  SharedWorld world;
  world.create_other();
  REQUIRE(world.shop.events.shared.size() == 1);
  CHECK(world.shop.events.shared[0] ==
        "network vpc-1 belongs to cluster demo: cluster other has to be deleted before that "
        "network can be removed");
  const auto warning_for = [&](const std::string& vpc) {
    return shared_network_warning(world.shop.store, SharedWorld::spec_of({"third"}, vpc));
  };
  const std::string id = world.shop.store.find_cluster(kDemo)->id.value;
  CHECK_FALSE(warning_for("fastgpu-demo-" + id).empty());
  CHECK(warning_for("vpc-2").empty());
  CHECK(warning_for("").empty());
  ClusterSpec elsewhere = SharedWorld::spec_of({"third"}, "vpc-1");
  elsewhere.provider = "alibaba";
  CHECK(shared_network_warning(world.shop.store, elsewhere).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision
