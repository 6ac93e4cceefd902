#include "provision/cloud/timers.hpp"

#include <doctest/doctest.h>

#include "fakes/fake_cloud.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "support/failure.hpp"

namespace fastgpu::provision::cloud {
namespace {

TEST_CASE("every machine of a cluster gets its timer, in calls of what the cloud takes at once") {
  test::FakeCloud cloud;
  const CloudSpec spec{.places = {{{"r1", "z1"}, "t", {}}}};
  const state::Cluster cluster{.provider_spec = spec};
  std::vector<state::Node> nodes;
  for (const char* id : {"m0", "m1", "", "m3", "lost"})
    nodes.push_back({.state = state::NodeState::running, .instance_id = id});
  nodes.back().state = state::NodeState::lost;
  const state::TimePoint when{std::chrono::hours(1)};

  set_timers(cloud, "us", cluster, nodes, when, Cancel());

  CHECK(cloud.calls == std::vector<std::size_t>{2, 1});
  REQUIRE(cloud.timers.size() == 3);
  CHECK(cloud.timers["m3"] == when);
  set_timers(cloud, "us", cluster, nodes, std::nullopt, Cancel());
  CHECK_FALSE(cloud.timers["m3"]);
}

TEST_CASE("a timer that is nearer than the cloud takes is known by the time that it has") {
  test::FakeCloud cloud;
  const CloudSpec spec{.places = {{{"r1", "z1"}, "t", {}}}};
  const state::Cluster cluster{.provider_spec = spec};
  const std::vector<state::Node> nodes = {
      {.state = state::NodeState::running, .instance_id = "m0"}};
  const auto near = std::chrono::system_clock::now() + std::chrono::minutes(5);
  cloud.nearest_timer = std::chrono::minutes(30);
  const auto held = set_timers(cloud, "us", cluster, nodes, near, Cancel());
  REQUIRE(held);
  CHECK(*held > near + std::chrono::minutes(20));
  CHECK(cloud.timers["m0"] == held);
  const auto far = near + std::chrono::hours(9);
  CHECK(set_timers(cloud, "us", cluster, nodes, far, Cancel()) == far);
  CHECK_FALSE(set_timers(cloud, "us", cluster, nodes, std::nullopt, Cancel()));
}

TEST_CASE("timers of a cluster that another has taken over are not ours to move") {
  test::FakeCloud cloud;
  const CloudSpec spec{.places = {{{"r1", "z1"}, "t", {}}}};
  const state::Cluster cluster{.id = {"c1"}, .provider_spec = spec};
  cloud.all = {{.id = "m0",
                .index = 0,
                .state = MachineState::running,
                .site = {"r1", "z1"},
                .type = "t",
                .marks = {{"c1"}, "t", "them"}}};
  const std::vector<state::Node> nodes = {{.instance_id = "m0"}};
  const auto set = [&] { set_timers(cloud, "us", cluster, nodes, std::nullopt, Cancel()); };
  CHECK(test::failure_of(set).kind() == ErrorKind::conflict);
  CHECK(cloud.timers.empty());
}

}  // namespace
}  // namespace fastgpu::provision::cloud
