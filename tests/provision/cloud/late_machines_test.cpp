#include "provision/late_machines.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "bench_of_places.hpp"
#include "provision/journal.hpp"
#include "provision/settle.hpp"
#include "support/failure.hpp"

namespace fastgpu::provision {
namespace {

using test::failure_of;
using Bench = PlacesBench;

TEST_SUITE_BEGIN("provision/late_machines");

TEST_CASE("a machine of a node that was given up is ended once it is listed") {
  Bench bench;
  const ClusterView view = bench.create();
  bench.cloud.is_launch_lost = true;
  CHECK_THROWS_AS(scale_cluster(bench.tools, view.cluster.name, 5), Error);
  CHECK(bench.alive() == Zones{{"r1a", 5}});
  CHECK(bench.names().size() == 4);
  settle(bench.tools, HalfMade::leave);
  bench.cloud.unlisted.clear();
  settle(bench.tools, HalfMade::leave);
  CHECK(bench.alive() == Zones{{"r1a", 4}});
  CHECK(bench.shop.store.open_intents().size() == 1);  // For there may be more of it.
}

TEST_CASE("a machine that the cloud did not know when it was to end is ended once it is listed") {
  Bench bench;
  const ClusterView view = bench.create();
  cloud::Machine late = bench.cloud.all[0];
  late.id = "late";
  late.index = 4;
  bench.cloud.all.push_back(late);
  const state::Node given_up{
      .cluster = view.cluster.id, .index = 4, .name = {"t-4"}, .instance_id = "late"};
  expect_late_machines(bench.tools, std::vector{given_up});
  settle(bench.tools, HalfMade::leave);
  CHECK(bench.alive() == Zones{{"r1a", 4}});
}

TEST_CASE("a machine that comes late is left alone where a node has its index by now") {
  Bench bench;
  const ClusterView view = bench.create();
  state::Node given_up = view.nodes.back();
  given_up.instance_id.clear();
  given_up.address.clear();
  expect_late_machines(bench.tools, std::vector{given_up});
  settle(bench.tools, HalfMade::leave);
  CHECK(bench.alive() == Zones{{"r1a", 4}});
}

TEST_CASE("the number of a node that the cloud has refused is free at once") {
  Bench bench;
  const ClusterView view = bench.create();
  bench.cloud.stock = {{"r1a", 0}};
  CHECK(failure_of([&] { scale_cluster(bench.tools, view.cluster.name, 5); }).kind() ==
        ErrorKind::capacity);
  CHECK(bench.shop.store.open_intents().empty());
  bench.cloud.stock = {{"r1a", 9}};
  CHECK(scale_cluster(bench.tools, view.cluster.name, 5).nodes.back().name.value == "demo-4");
}

TEST_CASE("the number of a node whose machine may still appear is left out") {
  Bench bench;
  const ClusterView view = bench.create();
  bench.cloud.is_launch_lost = true;
  CHECK_THROWS_AS(scale_cluster(bench.tools, view.cluster.name, 5), Error);
  bench.cloud.is_launch_lost = false;
  const Scaling plan = plan_scale(bench.tools, view.cluster.name, 5);
  REQUIRE(plan.added.size() == 1);
  CHECK(plan.added.front().name.value == "demo-5");
  CHECK(scale_cluster(bench.tools, view.cluster.name, 5).nodes.back().name.value == "demo-5");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision
