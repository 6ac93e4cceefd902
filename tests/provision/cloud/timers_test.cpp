#include "provision/cloud/timers.hpp"

#include <doctest/doctest.h>

#include "fakes/fake_cloud.hpp"
#include "provision/cloud/cloud_spec.hpp"

namespace fastgpu::provision::cloud {
namespace {

TEST_CASE("every machine of a cluster gets its timer, in calls of what the cloud takes at once") {
  test::FakeCloud cloud;
  const CloudSpec spec{.places = {{{"r1", "z1"}, "t", {}}}};
  const state::Cluster cluster{.spec_json = to_json_text(spec)};
  std::vector<state::Node> nodes;
  for (const char* id : {"m0", "m1", "", "m3", "lost"})
    nodes.push_back({.state = state::NodeState::running, .instance_id = id});
  nodes.back().state = state::NodeState::lost;
  const state::TimePoint when{std::chrono::hours(1)};

  set_timers(cloud, cluster, nodes, when, Cancel());

  CHECK(cloud.calls == std::vector<std::size_t>{2, 1});
  REQUIRE(cloud.timers.size() == 3);
  CHECK(cloud.timers["m3"] == when);
  set_timers(cloud, cluster, nodes, std::nullopt, Cancel());
  CHECK_FALSE(cloud.timers["m3"]);
}

}  // namespace
}  // namespace fastgpu::provision::cloud
