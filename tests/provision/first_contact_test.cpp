#include "provision/first_contact.hpp"

#include <doctest/doctest.h>

#include "provision/journal.hpp"
#include "provision/lifecycle.hpp"
#include "provision/settle.hpp"
#include "support/failure.hpp"
#include "workshop.hpp"

namespace fastgpu::provision {
namespace {

using state::ClusterState;
using state::NodeState;
using test::failure_of;
using test::kDemo;
using test::mentions;
using test::sample_spec;

/// A place as clouds are: addresses come late, and the first host key is everybody's.
struct CloudWorld : test::WorkshopWorld {
  CloudWorld() {
    shop.provider.slow_addresses = true;
    shop.provider.shares_host_keys = true;
  }

  ClusterView promised(int nodes = 2) {
    return create_cluster(tools, sample_spec(nodes), OnFailure::remove, Until::accepted).view;
  }
  std::vector<state::Node> nodes() const {
    return shop.store.nodes(shop.store.find_cluster(kDemo)->id);
  }
  std::size_t unmet() const {
    return unmet_nodes(shop.store, shop.store.find_cluster(kDemo)->id).size();
  }
};

TEST_SUITE_BEGIN("provision/first contact");

TEST_CASE("a creation that does not wait ends once the place has promised the machines") {
  CloudWorld world;
  world.shop.reachability.on_wait = [] { FAIL("somebody waits for nodes"); };
  const ClusterView view = world.promised();
  CHECK(view.cluster.state == ClusterState::running);
  CHECK(view.nodes[0].address.empty());
  CHECK_FALSE(view.nodes[0].instance_id.empty());
  CHECK(world.unmet() == 2);
  for (const std::string& step : world.shop.events.steps)
    CHECK(step.find("waiting") == std::string::npos);
}

TEST_CASE("whoever needs the nodes first waits for them and gives them host keys of their own") {
  CloudWorld world;
  const ClusterView view = world.promised();
  CHECK(view.nodes[0].host_keys == view.nodes[1].host_keys);
  CHECK(meet_nodes(world.tools, kDemo, view.nodes));
  const auto met = world.nodes();
  CHECK(met[0].address == "10.0.0.2");
  CHECK(met[0].host_keys == std::vector<std::string>{"ssh-ed25519 OWNdemo-0"});
  CHECK(met[1].host_keys == std::vector<std::string>{"ssh-ed25519 OWNdemo-1"});
  CHECK(world.shop.store.open_intents().empty());
  CHECK_FALSE(meet_nodes(world.tools, kDemo, met));
}

TEST_CASE("nodes that nobody needs yet stay unmet") {
  CloudWorld world;
  const ClusterView view = world.promised();
  CHECK(meet_nodes(world.tools, kDemo, std::span(view.nodes).first(1)));
  CHECK(world.unmet() == 1);
  CHECK_FALSE(meet_nodes(world.tools, kDemo, std::span(view.nodes).first(1)));
  CHECK(meet_nodes(world.tools, kDemo, view.nodes));
}

TEST_CASE("gc and settling leave a cluster alone whose nodes are unmet") {
  CloudWorld world;
  world.promised();
  CHECK(settle(world.tools).empty());
  CHECK(world.shop.provider.machines() == 2);
  CHECK(world.unmet() == 2);
}

TEST_CASE("a machine that a place does not list yet is not lost") {
  CloudWorld world;
  const ClusterView view = world.promised();
  world.shop.provider.lose_machine(view.nodes[1].token);
  CHECK(refresh_cluster(world.tools, kDemo).nodes[1].state == NodeState::running);
}

TEST_CASE("of a machine that did not start the way to another one is told") {
  CloudWorld world;
  const ClusterView view = world.promised();
  world.shop.provider.lose_machine(view.nodes[1].token);
  const Error gone = failure_of([&] { meet_nodes(world.tools, kDemo, view.nodes); });
  CHECK(gone.kind() == ErrorKind::capacity);
  CHECK(mentions(gone, "did not start or was taken back"));
  CHECK(mentions(gone, "`fastgpu start cluster demo --replace-lost`"));
  CHECK(world.unmet() == 2);
}

TEST_CASE("nodes that cannot be reached stay unmet, and nothing is removed") {
  CloudWorld world;
  const ClusterView view = world.promised();
  world.shop.reachability.failures.emplace("demo-1", Error(ErrorKind::timeout, "no answer"));
  CHECK(failure_of([&] { meet_nodes(world.tools, kDemo, view.nodes); }).kind() ==
        ErrorKind::timeout);
  CHECK(world.shop.provider.machines() == 2);
  world.shop.reachability.failures.clear();
  CHECK(meet_nodes(world.tools, kDemo, view.nodes));
}

TEST_CASE("a cluster whose nodes nobody met is scaled, stopped, started and deleted") {
  CloudWorld world;
  world.promised();
  scale_cluster(world.tools, kDemo, 1);
  CHECK(world.unmet() == 1);
  stop_cluster(world.tools, kDemo);
  const Error stopped = failure_of([&] { meet_nodes(world.tools, kDemo, world.nodes()); });
  CHECK(mentions(stopped, "`fastgpu start cluster demo`"));
  start_cluster(world.tools, kDemo);
  CHECK(meet_nodes(world.tools, kDemo, world.nodes()));
  delete_cluster(world.tools, kDemo);
  world.check_nothing_left();
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision
