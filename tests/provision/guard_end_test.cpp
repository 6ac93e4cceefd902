#include "provision/guard_end.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"
#include "workshop.hpp"

namespace fastgpu::provision {
namespace {

using namespace std::chrono_literals;
using state::NodeState;
using test::failure_of;
using test::kDemo;
using test::mentions;
using test::WorkshopWorld;

/// A cluster that was made an hour ago, with these guards.
struct GuardedWorld : WorkshopWorld {
  GuardedWorld() { create(); }

  void guard(const Guards& guards) {
    state::Cluster cluster = *shop.store.find_cluster(kDemo);
    cluster.guards = guards;
    shop.store.update_cluster(cluster);
  }

  void lose_all() {
    for (const state::Node& node : shop.store.nodes(shop.store.find_cluster(kDemo)->id))
      shop.provider.lose_machine(node.token);
  }

  /// Checks that `act` is refused because of the guards, and that it makes nothing.
  template <class Act>
  void check_refused(Act act) {
    const int made = shop.provider.machines_ever();
    const Error e = failure_of(act);
    CHECK(e.kind() == ErrorKind::conflict);
    CHECK(mentions(e, "its life of 1s is over"));
    CHECK(mentions(e, "`fastgpu guard cluster demo --max-life off`"));
    CHECK(shop.provider.machines_ever() == made);
  }
};

TEST_SUITE_BEGIN("provision/guard_end");

TEST_CASE("nothing is bought for a cluster whose life is over, until its guard is changed") {
  GuardedWorld world;
  stop_cluster(world.tools, kDemo);
  world.guard({.max_life = 1s});
  state::Cluster old = *world.shop.store.find_cluster(kDemo);
  old.created -= 1h;
  world.shop.store.update_cluster(old);
  world.check_refused([&] { start_cluster(world.tools, kDemo); });
  world.check_refused([&] { scale_cluster(world.tools, kDemo, 3); });
  world.check_refused([&] { plan_scale(world.tools, kDemo, 3); });
  world.lose_all();
  world.check_refused([&] { replace_lost_nodes(world.tools, kDemo); });
  world.guard({});
  CHECK(replace_lost_nodes(world.tools, kDemo).cluster.state == state::ClusterState::running);
}

TEST_CASE("a cluster whose life is over can be made smaller, and deleted") {
  GuardedWorld world;
  world.guard({.max_life = 0s});
  CHECK(scale_cluster(world.tools, kDemo, 1).nodes.size() == 1);
  delete_cluster(world.tools, kDemo);
  world.check_nothing_left();
}

TEST_CASE("a guard that only counts idle or unattended time lets a stopped cluster start") {
  GuardedWorld world;
  stop_cluster(world.tools, kDemo);
  world.guard({.unattended = 0s, .idle_delete = 0s});
  CHECK(start_cluster(world.tools, kDemo).cluster.state == state::ClusterState::running);
}

TEST_CASE("the guard that ended a cluster in a cloud explains that its machines are gone") {
  const state::TimePoint now{1000h};
  state::Cluster cluster{.name = {"g"}, .provider = "aws"};
  cluster.provider_spec = state::CloudSpec{};
  cluster.guards = Guards{.unattended = 1h};
  const std::vector<state::Node> lost = {{.state = NodeState::lost}};
  const std::vector<state::Node> one_left = {{.state = NodeState::lost},
                                             {.state = NodeState::running}};
  const Watched watched{.created = now - 9h, .contact = now - 2h};
  CHECK(ended_by_guard(cluster, lost, watched, now) == EndCause::unattended);
  CHECK_FALSE(ended_by_guard(cluster, one_left, watched, now));
  cluster.provider = "local";
  CHECK_FALSE(ended_by_guard(cluster, lost, watched, now));
  CHECK(guard_end_text(cluster, EndCause::unattended) ==
        "the guard of cluster g ends it: it was unattended for 1h; change the guard first "
        "(`fastgpu guard cluster g --unattended off`), or `fastgpu delete cluster g`");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision
