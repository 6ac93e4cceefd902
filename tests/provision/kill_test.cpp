// Every operation is killed at every fault point in turn; what the next command finds must be put
// right: nothing lost, nothing twice.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "provision/first_contact.hpp"
#include "provision/gc.hpp"
#include "provision/lifecycle.hpp"
#include "provision/settle.hpp"
#include "support/child.hpp"
#include "workshop.hpp"

namespace fastgpu::provision {
namespace {

using state::ClusterState;
using test::in_child;
using test::sample_spec;
using test::TempDirectory;
using test::Workshop;

const ClusterName kDemo{"demo"};
using Operation = std::function<void(const Tools&)>;

void create(const Tools& tools) {
  create_cluster(tools, sample_spec(), OnFailure::remove);
}

void run(const std::filesystem::path& place, const Operation& operation) {
  Workshop shop(place);
  operation(shop.tools());
}

/// Runs `operation` in a process that is killed at its n-th fault point; false where it has fewer.
bool is_killed_at(int n, const std::filesystem::path& place, const Operation& operation) {
  const auto end = in_child([&] {
    ::setenv("FASTGPU_FAULT", ("any:" + std::to_string(n)).c_str(), 1);
    run(place, operation);
    return 0;
  });
  CHECK((end.signal == SIGKILL || end.status == 0));
  return end.signal == SIGKILL;
}

void check_nothing_left(const std::filesystem::path& place) {
  const Workshop shop(place);
  CHECK(shop.provider.machines() == 0);
  CHECK(shop.provider.networks() == 0);
  CHECK(shop.store.clusters().empty());
  CHECK(shop.store.open_intents().empty());
  const auto files = shop.store.directory() / "clusters";
  CHECK((!std::filesystem::exists(files) || std::filesystem::is_empty(files)));
}

void check_whole(const std::filesystem::path& place, std::size_t nodes) {
  const Workshop shop(place);
  REQUIRE(shop.store.clusters().size() == 1);
  const auto cluster = shop.store.clusters().front();
  CHECK(cluster.state == ClusterState::running);
  CHECK(shop.store.nodes(cluster.id).size() == nodes);
  CHECK(shop.provider.machines() == nodes);
  CHECK(shop.provider.networks() == 1);
  CHECK(shop.store.open_intents().empty());
}

/// Kills `operation` at each of its fault points, then does `repair`, then `check`s.
void kill_everywhere(const Operation& before, const Operation& operation, const Operation& repair,
                     const std::function<void(const std::filesystem::path&)>& check) {
  int n = 1;
  for (;; ++n) {
    const TempDirectory temp;
    CAPTURE(n);
    if (before) run(temp.path(), before);
    if (!is_killed_at(n, temp.path(), operation)) break;
    run(temp.path(), repair);
    check(temp.path());
  }
  MESSAGE("killed at " << n - 1 << " points");
  CHECK(n > 10);
}

void gc(const Tools& tools) {
  for (const Settled& settled : collect_garbage(tools, GcMode::remove))
    CHECK_MESSAGE(settled.outcome.ok(), settled.what << ": " << settled.outcome.error().what());
}

void settle_all(const Tools& tools) {
  for (const Settled& settled : settle(tools))
    CHECK(settled.outcome.ok());
}

TEST_SUITE_BEGIN("provision/kill");

TEST_CASE(
    "a creation killed anywhere is made whole by repeating it, and no machine is made twice") {
  kill_everywhere({}, create, create, [](const auto& place) {
    check_whole(place, 2);
    CHECK(Workshop(place).provider.machines_ever() == 2);
  });
}

TEST_CASE("a creation killed anywhere is taken back by gc, unless it was complete") {
  kill_everywhere({}, create, gc, [](const auto& place) {
    const Workshop shop(place);
    if (shop.store.clusters().empty()) return check_nothing_left(place);
    check_whole(place, 2);
  });
}

TEST_CASE("a creation killed anywhere can be deleted") {
  const auto delete_if_any = [](const Tools& tools) {
    if (tools.store.find_cluster(kDemo)) delete_cluster(tools, kDemo);
  };
  kill_everywhere({}, create, delete_if_any, check_nothing_left);
}

TEST_CASE("a creation that did not wait, or a first contact, killed anywhere is completed") {
  const auto promise_and_meet = [](const Tools& tools) {
    create_cluster(tools, sample_spec(), OnFailure::remove, Until::accepted);
    meet_nodes(tools, kDemo, tools.store.nodes(tools.store.find_cluster(kDemo)->id));
  };
  kill_everywhere({}, promise_and_meet, promise_and_meet, [](const auto& place) {
    check_whole(place, 2);
    CHECK(Workshop(place).provider.machines_ever() == 2);
  });
}

TEST_CASE("a deletion killed anywhere is finished by the next command, or never began") {
  const auto settle_and_delete = [](const Tools& tools) {
    settle_all(tools);
    if (!tools.store.find_cluster(kDemo)) return;
    CHECK(tools.store.find_cluster(kDemo)->state == ClusterState::running);
    delete_cluster(tools, kDemo);
  };
  kill_everywhere(
      create, [](const Tools& tools) { delete_cluster(tools, kDemo); }, settle_and_delete,
      check_nothing_left);
}

TEST_CASE("a creation after a deletion that was killed anywhere makes a whole cluster") {
  kill_everywhere(
      create, [](const Tools& tools) { delete_cluster(tools, kDemo); }, create,
      [](const auto& place) { check_whole(place, 2); });
}

TEST_CASE("a scaling up killed anywhere leaves the old size or the new one") {
  kill_everywhere(
      create, [](const Tools& tools) { scale_cluster(tools, kDemo, 4); }, settle_all,
      [](const auto& place) {
        const auto nodes = Workshop(place).provider.machines();
        CHECK((nodes == 2 || nodes == 4));
        check_whole(place, nodes);
      });
}

TEST_CASE("a scaling down killed anywhere leaves the old size or the new one") {
  kill_everywhere(
      create, [](const Tools& tools) { scale_cluster(tools, kDemo, 1); }, settle_all,
      [](const auto& place) {
        const auto nodes = Workshop(place).provider.machines();
        CHECK((nodes == 1 || nodes == 2));
        check_whole(place, nodes);
      });
}

TEST_CASE("a scaling killed anywhere is completed by repeating it") {
  const auto scale = [](const Tools& tools) { scale_cluster(tools, kDemo, 3); };
  kill_everywhere(create, scale, scale, [](const auto& place) { check_whole(place, 3); });
}

TEST_CASE("a stop and a start killed anywhere are completed by repeating them") {
  const auto stop = [](const Tools& tools) { stop_cluster(tools, kDemo); };
  const auto start = [](const Tools& tools) { start_cluster(tools, kDemo); };
  const auto stop_then_start = [&](const Tools& tools) {
    stop(tools);
    start(tools);
  };
  kill_everywhere(create, stop_then_start, stop_then_start,
                  [](const auto& place) { check_whole(place, 2); });
}

TEST_CASE("a roll-back after a failure that is killed anywhere is finished by gc") {
  const auto fail = [](const Tools& tools) {
    test::FakeReachability deaf;
    deaf.failures.emplace("demo-1", Error(ErrorKind::timeout, "no answer"));
    Tools unlucky{.store = tools.store,
                  .providers = tools.providers,
                  .keys = tools.keys,
                  .reachability = deaf,
                  .events = tools.events,
                  .clock = tools.clock,
                  .cancel = tools.cancel,
                  .setup = &deaf};
    CHECK_THROWS_AS(create(unlucky), Error);
  };
  kill_everywhere({}, fail, gc, check_nothing_left);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision
