#include "provision/lifecycle.hpp"
#include "base/files.hpp"

#include <doctest/doctest.h>

#include "provision/journal.hpp"
#include "provision/settle.hpp"
#include "state/directory.hpp"
#include "state/lock.hpp"
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
using test::WorkshopWorld;

TEST_SUITE_BEGIN("provision/lifecycle");

TEST_CASE("creating a cluster makes its machines and remembers them") {
  WorkshopWorld world;
  const ClusterView view = world.create();
  CHECK(view.cluster.state == ClusterState::running);
  CHECK(std::get<state::HostNetwork>(*view.cluster.network).range == "10.0.0.0/24");
  const auto nodes = world.shop.store.nodes(view.cluster.id);
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[1].name.value == "demo-1");
  CHECK(nodes[1].state == NodeState::running);
  CHECK(nodes[1].address == "10.0.0.3");
  CHECK(nodes[1].slots == 2);
  CHECK(nodes[1].host_keys.size() == 1);
  CHECK(nodes[0].host_keys != nodes[1].host_keys);
  CHECK(world.shop.provider.machines() == 2);
  CHECK(world.shop.store.open_intents().empty());
}

TEST_CASE("the cluster's key is there, and the nodes' private keys are not") {
  WorkshopWorld world;
  const ClusterView view = world.create();
  const auto identity = state::identity_file(world.shop.store.directory(), view.cluster.id);
  CHECK(read_file(identity)->starts_with("private "));
  CHECK_FALSE(std::filesystem::exists(identity.parent_path() / "host_keys.json"));
}

TEST_CASE("creating the same cluster again changes nothing") {
  WorkshopWorld world;
  const ClusterView first = world.create();
  const CreateResult again = create_cluster(world.tools, sample_spec(), OnFailure::remove);
  CHECK(again.kind == PlanKind::unchanged);
  CHECK(again.view.cluster.id == first.cluster.id);
  CHECK(world.shop.provider.create_calls == 1);
}

TEST_CASE("addresses that come late are waited for") {
  WorkshopWorld world;
  world.shop.provider.slow_addresses = true;
  CHECK(world.create().nodes[0].address == "10.0.0.2");
}

TEST_CASE("a machine that is listed nowhere is waited for only so long") {
  WorkshopWorld world;
  world.shop.provider.slow_addresses = true;
  world.shop.provider.loses_machines = true;
  const Error gone = failure_of([&] { world.create(); });
  CHECK(gone.kind() == ErrorKind::capacity);
  CHECK(mentions(gone, "did not start or was taken back"));
  CHECK(world.shop.events.replaced.size() == 1);
  CHECK(world.shop.clock.now() < Clock::time_point(std::chrono::minutes(3)));
  world.check_nothing_left();
}

TEST_CASE("a node that cannot be made takes the whole cluster back") {
  WorkshopWorld world;
  world.shop.provider.create_failures.emplace("demo-1", Error(ErrorKind::capacity, "no stock"));
  const Error e = failure_of([&] { world.create(3); });
  CHECK(e.kind() == ErrorKind::capacity);
  CHECK(std::string(e.what()) == "creating cluster 'demo': creating nodes: demo-1: no stock");
  world.check_nothing_left();
}

TEST_CASE("a node that does not answer takes the whole cluster back") {
  WorkshopWorld world;
  world.shop.reachability.failures.emplace("demo-0", Error(ErrorKind::timeout, "no answer"));
  CHECK(failure_of([&] { world.create(); }).kind() == ErrorKind::timeout);
  world.check_nothing_left();
}

TEST_CASE("what was made is kept where that is asked for, and can be deleted") {
  WorkshopWorld world;
  world.shop.reachability.failures.emplace("demo-0", Error(ErrorKind::timeout, "no answer"));
  const Error e = failure_of([&] { create_cluster(world.tools, sample_spec(), OnFailure::keep); });
  CHECK(mentions(e, "`fastgpu delete cluster demo` removes it"));
  CHECK(world.shop.provider.machines() == 2);
  CHECK(world.shop.store.clusters().at(0).state == ClusterState::degraded);
  CHECK(world.shop.store.open_intents().empty());
  delete_cluster(world.tools, kDemo);
  world.check_nothing_left();
}

TEST_CASE("a cancel in the middle of a creation removes what was made") {
  WorkshopWorld world;
  world.shop.provider.on_create = [&] { world.shop.cancel.request(); };
  const Error e = failure_of([&] { world.create(); });
  CHECK(e.kind() == ErrorKind::interrupted);
  world.check_nothing_left();
}

TEST_CASE("a cancel while nodes boot removes them") {
  WorkshopWorld world;
  world.shop.reachability.on_wait = [&] { world.shop.cancel.request(); };
  CHECK(failure_of([&] { world.create(); }).kind() == ErrorKind::interrupted);
  world.check_nothing_left();
}

TEST_CASE("what cannot be removed after a failure is said, with the command that removes it") {
  WorkshopWorld world;
  world.shop.reachability.failures.emplace("demo-0", Error(ErrorKind::timeout, "no answer"));
  world.shop.provider.destroy_failures.emplace("demo-1", Error(ErrorKind::transient, "busy"));
  const Error e = failure_of([&] { world.create(); });
  CHECK(e.kind() == ErrorKind::timeout);
  CHECK(mentions(e, "something is left"));
  CHECK(mentions(e, "`fastgpu delete cluster demo`"));
  CHECK(world.shop.provider.machines() == 1);
  world.shop.provider.destroy_failures.clear();
  delete_cluster(world.tools, kDemo);
  world.check_nothing_left();
}

TEST_CASE("deleting removes everything, and a second time there is nothing to delete") {
  WorkshopWorld world;
  world.create();
  delete_cluster(world.tools, kDemo);
  world.check_nothing_left();
  CHECK(failure_of([&] { delete_cluster(world.tools, kDemo); }).kind() == ErrorKind::not_found);
}

TEST_CASE("a cancel before a deletion is on record deletes nothing") {
  WorkshopWorld world;
  world.create();
  bool is_committed = false;
  world.shop.cancel.request();
  const Error e =
      failure_of([&] { delete_cluster(world.tools, kDemo, [&] { is_committed = true; }); });
  CHECK(e.kind() == ErrorKind::interrupted);
  CHECK(!is_committed);
  CHECK(world.shop.store.clusters().at(0).state == ClusterState::running);
  CHECK(world.shop.provider.machines() == 2);
}

TEST_CASE("a cancel after a deletion is on record does not stop it") {
  WorkshopWorld world;
  world.create();
  delete_cluster(world.tools, kDemo, [&] { world.shop.cancel.request(); });
  world.check_nothing_left();
}

TEST_CASE("deleting again finishes what failed half-way") {
  WorkshopWorld world;
  world.create(3);
  world.shop.provider.destroy_failures.emplace("demo-1", Error(ErrorKind::transient, "busy"));
  const Error e = failure_of([&] { delete_cluster(world.tools, kDemo); });
  CHECK(mentions(e, "demo-1: busy"));
  CHECK(world.shop.store.clusters().at(0).state == ClusterState::deleting);
  CHECK(world.shop.store.nodes(world.shop.store.clusters().at(0).id).size() == 1);
  world.shop.provider.destroy_failures.clear();
  delete_cluster(world.tools, kDemo);
  world.check_nothing_left();
}

TEST_CASE("a deletion whose place cannot be asked names the cluster and the way to try again") {
  WorkshopWorld world;
  world.create();
  world.shop.provider.unlisted = Error(ErrorKind::transient, "no answer");
  for (const Error& failed : {failure_of([&] { check_may_delete(world.tools, kDemo); }),
                              failure_of([&] { delete_cluster(world.tools, kDemo); })}) {
    CHECK(failed.kind() == ErrorKind::transient);
    CHECK(std::string(failed.what()) ==
          "deleting cluster 'demo': no answer; `fastgpu delete cluster demo` tries again");
  }
  CHECK(world.shop.provider.machines() == 2);
}

TEST_CASE("an unknown cluster is named with the nearest one") {
  WorkshopWorld world;
  world.create();
  const Error e = failure_of([&] { stop_cluster(world.tools, {"dema"}); });
  CHECK(e.kind() == ErrorKind::not_found);
  CHECK(std::string(e.what()) == "there is no cluster 'dema', did you mean 'demo'?");
}

TEST_CASE("a cluster stops and starts, and either twice is fine") {
  WorkshopWorld world;
  world.create();
  CHECK(stop_cluster(world.tools, kDemo).cluster.state == ClusterState::stopped);
  CHECK(stop_cluster(world.tools, kDemo).cluster.state == ClusterState::stopped);
  CHECK(start_cluster(world.tools, kDemo).cluster.state == ClusterState::running);
  CHECK(start_cluster(world.tools, kDemo).nodes[1].state == NodeState::running);
  CHECK(world.shop.store.open_intents().empty());
}

TEST_CASE("a node that does not stop leaves the cluster degraded, and the others stopped") {
  WorkshopWorld world;
  world.create();
  world.shop.provider.stop_failures.emplace("demo-0", Error(ErrorKind::remote, "stuck"));
  const Error e = failure_of([&] { stop_cluster(world.tools, kDemo); });
  CHECK(std::string(e.what()) == "stopping cluster 'demo': stopping nodes: demo-0: stuck");
  CHECK(world.shop.store.clusters().at(0).state == ClusterState::degraded);
  CHECK(world.shop.store.open_intents().empty());
}

TEST_CASE("a start that the place has no machines for stops again what it has started") {
  WorkshopWorld world;
  world.create(3);
  stop_cluster(world.tools, kDemo);
  world.shop.provider.start_failures.emplace("demo-1", Error(ErrorKind::capacity, "no stock"));
  const Error e = failure_of([&] { start_cluster(world.tools, kDemo); });
  CHECK(e.kind() == ErrorKind::capacity);
  CHECK(std::string(e.what()) ==
        "starting cluster 'demo': starting nodes: demo-1: no stock; what had started is stopped "
        "again");
  CHECK(refresh_cluster(world.tools, kDemo).cluster.state == ClusterState::stopped);
  CHECK(world.shop.store.open_intents().empty());
}

TEST_CASE("a start that cannot be undone names what it leaves and the command that stops it") {
  WorkshopWorld world;
  world.create();
  stop_cluster(world.tools, kDemo);
  world.shop.provider.start_failures.emplace("demo-1", Error(ErrorKind::capacity, "no stock"));
  world.shop.provider.stop_failures.emplace("demo-0", Error(ErrorKind::denied, "no permission"));
  const Error e = failure_of([&] { start_cluster(world.tools, kDemo); });
  CHECK(e.kind() == ErrorKind::capacity);
  CHECK(std::string(e.what()) ==
        "starting cluster 'demo': starting nodes: demo-1: no stock; something is left (stopping "
        "nodes: demo-0: no permission): `fastgpu stop cluster demo` stops it");
  CHECK(world.shop.store.clusters().at(0).state == ClusterState::degraded);
}

TEST_CASE("nodes that ran before a start that fails keep running") {
  WorkshopWorld world;
  const ClusterView view = world.create();
  world.shop.provider.stop(view.cluster, std::vector<state::Node>{view.nodes[1]}, {});
  world.shop.provider.start_failures.emplace("demo-1", Error(ErrorKind::capacity, "no stock"));
  CHECK(failure_of([&] { start_cluster(world.tools, kDemo); }).kind() == ErrorKind::capacity);
  const ClusterView seen = refresh_cluster(world.tools, kDemo);
  CHECK(seen.nodes[0].state == NodeState::running);
  CHECK(seen.nodes[1].state == NodeState::stopped);
}

TEST_CASE("a node that does not start for another reason leaves the others running") {
  WorkshopWorld world;
  world.create();
  stop_cluster(world.tools, kDemo);
  world.shop.provider.start_failures.emplace("demo-1", Error(ErrorKind::remote, "it is gone"));
  CHECK(failure_of([&] { start_cluster(world.tools, kDemo); }).kind() == ErrorKind::remote);
  CHECK(refresh_cluster(world.tools, kDemo).nodes[0].state == NodeState::running);
}

TEST_CASE("after a reboot the cluster is found stopped, and starts") {
  WorkshopWorld world;
  world.create();
  world.shop.provider.reboot();
  CHECK(refresh_cluster(world.tools, kDemo).cluster.state == ClusterState::stopped);
  CHECK(world.shop.store.clusters().at(0).state == ClusterState::stopped);
  CHECK(start_cluster(world.tools, kDemo).cluster.state == ClusterState::running);
}

TEST_CASE("a dead node is lost and its cluster degraded") {
  WorkshopWorld world;
  const ClusterView view = world.create();
  world.shop.provider.lose_machine(view.nodes[1].token);
  const ClusterView seen = refresh_cluster(world.tools, kDemo);
  CHECK(seen.cluster.state == ClusterState::degraded);
  CHECK(seen.nodes[0].state == NodeState::running);
  CHECK(seen.nodes[1].state == NodeState::lost);
}

TEST_CASE("scaling up adds nodes, scaling down removes the highest") {
  WorkshopWorld world;
  world.create();
  CHECK(scale_cluster(world.tools, kDemo, 4).nodes.size() == 4);
  CHECK(world.shop.provider.machines() == 4);
  const ClusterView small = scale_cluster(world.tools, kDemo, 1);
  REQUIRE(small.nodes.size() == 1);
  CHECK(small.nodes[0].name.value == "demo-0");
  CHECK(world.shop.provider.machines() == 1);
  CHECK(scale_cluster(world.tools, kDemo, 1).nodes.size() == 1);
  CHECK(scale_cluster(world.tools, kDemo, 2).nodes.at(1).name.value == "demo-1");
  CHECK(world.shop.store.open_intents().empty());
  CHECK(failure_of([&] { scale_cluster(world.tools, kDemo, 0); }).kind() == ErrorKind::usage);
}

TEST_CASE("a cancel before a scaling down is on record removes no node") {
  WorkshopWorld world;
  world.create(3);
  world.shop.cancel.request();
  CHECK(failure_of([&] { scale_cluster(world.tools, kDemo, 1); }).kind() == ErrorKind::interrupted);
  CHECK(world.shop.provider.machines() == 3);
}

TEST_CASE("a cancel after a scaling down is on record does not stop it") {
  WorkshopWorld world;
  world.create(3);
  scale_cluster(world.tools, kDemo, 1, [&] { world.shop.cancel.request(); });
  CHECK(world.shop.provider.machines() == 1);
}

TEST_CASE("scaling up that fails leaves the cluster as it was") {
  WorkshopWorld world;
  world.create();
  world.shop.provider.create_failures.emplace("demo-3", Error(ErrorKind::capacity, "no stock"));
  CHECK(failure_of([&] { scale_cluster(world.tools, kDemo, 4); }).kind() == ErrorKind::capacity);
  CHECK(world.shop.provider.machines() == 2);
  CHECK(world.shop.store.clusters().at(0).state == ClusterState::running);
  CHECK(world.shop.store.open_intents().empty());
}

TEST_CASE("a lost node is replaced under its name, with keys of its own") {
  WorkshopWorld world;
  const ClusterView before = world.create();
  world.shop.provider.lose_machine(before.nodes[1].token);
  const ClusterView after = replace_lost_nodes(world.tools, kDemo);
  CHECK(after.cluster.state == ClusterState::running);
  REQUIRE(after.nodes.size() == 2);
  CHECK(after.nodes[0].token == before.nodes[0].token);
  CHECK(after.nodes[1].name == before.nodes[1].name);
  CHECK(after.nodes[1].token != before.nodes[1].token);
  CHECK(after.nodes[1].host_keys != before.nodes[1].host_keys);
  CHECK(world.shop.provider.machines() == 2);
  CHECK(world.shop.store.open_intents().empty());
}

TEST_CASE("a lost node that cannot be replaced stays lost") {
  WorkshopWorld world;
  const ClusterView before = world.create();
  world.shop.provider.lose_machine(before.nodes[1].token);
  world.shop.provider.create_failures.emplace("demo-1", Error(ErrorKind::capacity, "no stock"));
  CHECK(failure_of([&] { replace_lost_nodes(world.tools, kDemo); }).kind() == ErrorKind::capacity);
  const auto nodes = world.shop.store.nodes(before.cluster.id);
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[1].state == NodeState::lost);
  CHECK(world.shop.store.open_intents().empty());
}

TEST_CASE("a replacing that died is given up, and can be repeated") {
  WorkshopWorld world;
  const ClusterView before = world.create();
  state::Node half = before.nodes[1];
  half.state = NodeState::creating;
  half.token = "half";
  world.shop.provider.lose_machine(before.nodes[1].token);
  world.shop.provider.add_machine(before.cluster.id.value, "half");
  world.shop.store.put_node(half);
  open_node_intent(world.shop.store, half, kReplaceNode);
  settle(world.tools, HalfMade::leave);
  CHECK(world.shop.provider.machines() == 1);
  CHECK(replace_lost_nodes(world.tools, kDemo).cluster.state == ClusterState::running);
  CHECK(world.shop.provider.machines() == 2);
}

TEST_CASE("a cluster is renamed, and not to a name that is taken") {
  WorkshopWorld world;
  world.create();
  CHECK(rename_cluster(world.tools, kDemo, {"train"}).cluster.name.value == "train");
  CHECK_FALSE(world.shop.store.find_cluster(kDemo));
  world.create();
  const Error e = failure_of([&] { rename_cluster(world.tools, {"train"}, kDemo); });
  CHECK(e.kind() == ErrorKind::conflict);
  CHECK(failure_of([&] { rename_cluster(world.tools, kDemo, {"a/b"}); }).kind() ==
        ErrorKind::usage);
}

TEST_CASE("a name that is taken here is not written on the machines first") {
  WorkshopWorld world;
  world.create();
  rename_cluster(world.tools, kDemo, {"train"});
  world.create();
  CHECK_THROWS_AS(rename_cluster(world.tools, {"train"}, kDemo), Error);
  CHECK(world.shop.provider.renamed == std::vector<std::string>{"train"});
}

TEST_CASE("a cluster's name differs from another's by more than case and dots") {
  WorkshopWorld world;
  create_cluster(world.tools, sample_spec(), OnFailure::remove);
  ClusterSpec other = sample_spec();
  other.name = {"Demo"};
  CHECK(failure_of([&] { plan_cluster(world.tools, other); }).kind() == ErrorKind::conflict);
  CHECK(failure_of([&] { create_cluster(world.tools, other, OnFailure::remove); }).kind() ==
        ErrorKind::conflict);
  CHECK(rename_cluster(world.tools, kDemo, other.name).cluster.name == other.name);
  CHECK(failure_of([&] { create_cluster(world.tools, sample_spec(), OnFailure::remove); }).kind() ==
        ErrorKind::conflict);
}

TEST_CASE("a cluster that somebody else has taken over is not renamed") {
  WorkshopWorld world;
  world.create();
  world.shop.provider.taken_by = "state directory 1a2b3c4d";
  CHECK(failure_of([&] { rename_cluster(world.tools, kDemo, {"train"}); }).kind() ==
        ErrorKind::conflict);
  CHECK(world.shop.provider.renamed.empty());
  CHECK(world.shop.store.find_cluster(kDemo));
}

TEST_CASE("a cluster that another fastgpu is changing is a conflict") {
  WorkshopWorld world;
  world.create();
  const auto lock = state::ClusterLock::try_lock(world.shop.store, kDemo);
  CHECK(failure_of([&] { delete_cluster(world.tools, kDemo); }).kind() == ErrorKind::conflict);
  CHECK(failure_of([&] { stop_cluster(world.tools, kDemo); }).kind() == ErrorKind::conflict);
  CHECK(failure_of([&] { world.create(); }).kind() == ErrorKind::conflict);
}

TEST_CASE("steps are announced to the observer") {
  WorkshopWorld world;
  world.create();
  CHECK(world.shop.events.steps.front() == "> preparing the network");
  CHECK(world.shop.events.steps.back() == "< waiting for 2 nodes");
  CHECK(world.shop.events.nodes == std::vector<std::string>{"demo-0", "demo-1"});
}

TEST_CASE("what a deletion has to leave is said in one sentence, and the deletion goes on") {
  WorkshopWorld world;
  world.create(3);
  world.shop.provider.left_behind = {{"demo-0", "demo-0: a line"}, {"demo-2", "demo-2: a line"}};
  delete_cluster(world.tools, kDemo);
  CHECK(world.shop.events.left == std::vector<std::string>{"demo-0: a line (and so on demo-2)"});
  world.check_nothing_left();
}

TEST_CASE("a plan finds that the place cannot be used, as the real call does") {
  WorkshopWorld world;
  world.shop.provider.unusable = Error(ErrorKind::denied, "this place needs root");
  CHECK(failure_of([&] { plan_cluster(world.tools, sample_spec()); }).kind() == ErrorKind::denied);
  world.shop.provider.unusable.reset();
  const ClusterView view = world.create();
  world.shop.provider.unusable = Error(ErrorKind::denied, "this place needs root");
  CHECK(plan_cluster(world.tools, sample_spec()).kind == PlanKind::unchanged);
  CHECK(failure_of([&] { plan_scale(world.tools, kDemo, 3); }).kind() == ErrorKind::denied);
  CHECK(plan_scale(world.tools, kDemo, 1).removed.size() == 1);
  CHECK(world.shop.store.nodes(view.cluster.id).size() == 2);
}

TEST_CASE("a plan is refused for a cluster that another machine has taken over") {
  WorkshopWorld world;
  world.create();
  world.shop.provider.taken_by = "state directory 1a2b3c4d (on laptop)";
  CHECK(failure_of([&] { plan_cluster(world.tools, sample_spec()); }).kind() ==
        ErrorKind::conflict);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision
