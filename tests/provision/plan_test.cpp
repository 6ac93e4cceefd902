#include "provision/plan.hpp"
#include "base/json.hpp"

#include <doctest/doctest.h>

#include "provision/providers.hpp"
#include "support/failure.hpp"

namespace fastgpu::provision {
namespace {

using state::ClusterState;
using test::failure_of;

ClusterSpec wanted(int nodes = 2) {
  return {.name = {"demo"}, .nodes = nodes, .slots = 2};
}

FoundCluster found(ClusterState state, int nodes, int instances) {
  FoundCluster result;
  result.cluster = state::Cluster{.id = {"0badcafe"},
                                  .name = {"demo"},
                                  .provider = "local",
                                  .state = state,
                                  .slots = 2,
                                  .user = "root"};
  for (int i = 0; i < nodes; ++i)
    result.nodes.push_back({.cluster = {"0badcafe"},
                            .index = i,
                            .name = {"demo-" + std::to_string(i)},
                            .token = "t" + std::to_string(i)});
  for (int i = 0; i < instances; ++i)
    result.instances.push_back(
        {.index = i, .id = "i" + std::to_string(i), .token = "t" + std::to_string(i)});
  return result;
}

TEST_SUITE_BEGIN("provision/plan");

TEST_CASE("a cluster that is not there is planned node by node") {
  const ClusterPlan plan = make_plan(wanted(), {});
  CHECK(plan.kind == PlanKind::create);
  CHECK(describe(plan) == std::vector<std::string>{"prepare shared resources", "create node demo-0",
                                                   "create node demo-1"});
}

TEST_CASE("a cluster of the same size needs nothing") {
  const ClusterPlan plan = make_plan(wanted(), found(ClusterState::running, 2, 2));
  CHECK(plan.kind == PlanKind::unchanged);
  CHECK(plan.steps.empty());
  CHECK(describe(plan).at(0) == "nothing to do: cluster 'demo' already matches the request");
}

TEST_CASE("a half-made cluster is resumed: what is there is adopted, what is missing created") {
  const ClusterPlan plan = make_plan(wanted(), found(ClusterState::creating, 2, 1));
  CHECK(plan.kind == PlanKind::resume);
  CHECK(describe(plan) == std::vector<std::string>{"prepare shared resources",
                                                   "adopt node demo-0 (i0)", "create node demo-1"});
}

TEST_CASE("a machine with our mark and a token nobody knows is a stray") {
  const ClusterPlan plan = make_plan(wanted(), found(ClusterState::running, 2, 3));
  CHECK(describe(plan) == std::vector<std::string>{"destroy stray machine i2"});
}

TEST_CASE("a cluster of another size is a conflict that names the way out") {
  const Error e = failure_of([] { make_plan(wanted(3), found(ClusterState::running, 2, 2)); });
  CHECK(e.kind() == ErrorKind::conflict);
  CHECK(std::string(e.what()) ==
        "cluster 'demo' exists already with 2 nodes, not 3: `fastgpu scale cluster demo --nodes 3` "
        "changes its size");
}

TEST_CASE("another user, or another form in the provider's eyes, is a conflict") {
  FoundCluster other = found(ClusterState::running, 2, 2);
  other.cluster->user = "ada";
  const Error e = failure_of([&] { make_plan(wanted(), other); });
  CHECK(e.kind() == ErrorKind::conflict);
  CHECK(std::string(e.what()).find("exists already with user 'ada', not 'root'") !=
        std::string::npos);
  other = found(ClusterState::running, 2, 2);
  other.difference = "with link rate 1gbit, not 300mbit";
  CHECK(std::string(failure_of([&] { make_plan(wanted(), other); }).what()) ==
        "cluster 'demo' exists already with link rate 1gbit, not 300mbit: choose another name, or "
        "delete it first");
}

TEST_CASE("another provider, other slots, or a cluster on its way out are conflicts") {
  FoundCluster other = found(ClusterState::running, 2, 2);
  other.cluster->provider = "static";
  CHECK(failure_of([&] { make_plan(wanted(), other); }).kind() == ErrorKind::conflict);
  other = found(ClusterState::running, 2, 2);
  other.cluster->slots = 8;
  CHECK(failure_of([&] { make_plan(wanted(), other); }).kind() == ErrorKind::conflict);
  CHECK(failure_of([] { make_plan(wanted(), found(ClusterState::deleting, 2, 2)); }).kind() ==
        ErrorKind::conflict);
  CHECK(failure_of([] { make_plan(wanted(1), found(ClusterState::creating, 2, 2)); }).kind() ==
        ErrorKind::conflict);
}

TEST_CASE("sizes, names and users that cannot be are refused with the value met") {
  const std::vector<ClusterSpec> bad = {
      {.name = {"demo"}, .nodes = 0},          {.name = {"demo"}, .nodes = -1},
      {.name = {"demo"}, .nodes = 10'001},     {.name = {"demo"}, .slots = 0},
      {.name = {"demo"}, .slots = 1'025},      {.name = {"de/mo"}},
      {.name = {"demo"}, .user = "a b"},       {.name = {"demo"}, .user = ""},
      {.name = {"demo"}, .provider = "lokal"},
  };
  for (const ClusterSpec& spec : bad)
    CHECK(failure_of([&] { make_plan(spec, {}); }).kind() == ErrorKind::usage);
  const Error e = failure_of([&] { make_plan(bad[2], {}); });
  CHECK(std::string(e.what()) == "the number of nodes must be 1 to 10000, not 10001");
  const Error provider = failure_of([] { check_provider_name("lokal"); });
  CHECK(std::string(provider.what()).find("did you mean 'local'") != std::string::npos);
}

TEST_CASE("a plan for machines has a schema and the steps") {
  const nlohmann::json json = to_json(make_plan(wanted(), found(ClusterState::creating, 2, 1)));
  CHECK(json.at("schema") == "fastgpu/plan/v1");
  CHECK(json.at("result") == "resume");
  CHECK(json.at("steps").size() == 3);
  CHECK(json.at("steps")[1] ==
        nlohmann::json{{"step", "adopt-node"}, {"node", "demo-0"}, {"instance", "i0"}});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision
