#include "provision/gather.hpp"

#include <doctest/doctest.h>

#include "bench_of_places.hpp"
#include "provision/cloud/cloud_provider.hpp"
#include "provision/journal.hpp"
#include "provision/lifecycle.hpp"
#include "provision/settle.hpp"
#include "support/failure.hpp"

namespace fastgpu::provision {
namespace {

using namespace std::chrono_literals;
using cloud::MachineState;
using test::failure_of;
using Bench = PlacesBench;
using test::FakeCloud;

TEST_SUITE_BEGIN("provision/gather");

TEST_CASE("where one place has room for all nothing else is asked") {
  Bench bench;
  bench.create();
  CHECK(bench.alive() == Zones{{"r1a", 4}});
  CHECK(bench.cloud.launches.size() == 1);
}

TEST_CASE("of a new cluster nothing is looked for that nobody has asked for yet") {
  Bench bench;
  bench.create();
  REQUIRE(bench.cloud.network_wishes.size() == 1);
  CHECK_FALSE(bench.cloud.network_wishes.front().may_be_there);
  CHECK(bench.cloud.lists_asked == 0);
}

TEST_CASE("what a refusal may have left behind is looked for before it is asked for again") {
  Bench bench;
  bench.cloud.stock = {{"r1a", 3}};
  bench.create();
  REQUIRE(bench.cloud.network_wishes.size() == 2);
  CHECK(bench.cloud.network_wishes.back().may_be_there);
  CHECK(bench.cloud.lists_asked > 0);
}

TEST_CASE("what an earlier run has asked for is looked for by the one that goes on") {
  Bench bench;
  struct Killed {};
  bench.shop.reachability.on_wait = [] { throw Killed(); };
  CHECK_THROWS_AS(bench.create(), Killed);
  bench.shop.reachability.on_wait = {};
  bench.create();
  REQUIRE(bench.cloud.network_wishes.size() == 2);
  CHECK_FALSE(bench.cloud.network_wishes.front().may_be_there);
  CHECK(bench.cloud.network_wishes.back().may_be_there);
  CHECK(bench.cloud.launches.size() == 1);
}

TEST_CASE("without holding a place gives all or nothing, and no machine is paid for in vain") {
  Bench bench;
  bench.cloud.stock = {{"r1a", 3}};
  int most = 0;
  bench.cloud.on_launch = [&] {
    const auto alive = bench.alive();
    most = std::max(most, static_cast<int>(alive.size()));
  };
  bench.create();
  CHECK(bench.alive() == Zones{{"r1b", 4}});
  CHECK(most == 0);
  CHECK(bench.cloud.all.size() == 4);
  for (const cloud::Launch& launch : bench.cloud.launches)
    CHECK(launch.least == launch.count);
  CHECK(bench.shop.events.moves.size() == 1);
}

TEST_CASE("while others are sought the larger acquisition is held and the smaller one given back") {
  Bench bench;
  bench.cloud.stock = {{"r1a", 1}, {"r1b", 3}, {"r2a", 2}};
  bench.spec.holding = {.least = 2};
  const ClusterView view = bench.create();
  CHECK(bench.alive() == Zones{{"r1b", 3}});
  CHECK(view.nodes.size() == 3);
  CHECK(view.cluster.state == state::ClusterState::running);
  CHECK(bench.shop.events.shrinkings == std::vector<std::pair<std::size_t, std::size_t>>{{4, 3}});
  CHECK(bench.shop.store.open_intents().empty());
}

TEST_CASE("a cluster that was allowed to begin smaller is found as wanted when asked for again") {
  Bench bench;
  bench.cloud.stock = {{"r1a", 3}, {"r1b", 0}, {"r2a", 0}};
  bench.spec.holding = {.least = 3};
  bench.create();
  CHECK(create_cluster(bench.tools, bench.spec, OnFailure::remove).kind == PlanKind::unchanged);
  bench.spec.holding = {};
  CHECK(failure_of([&] { bench.create(); }).kind() == ErrorKind::conflict);
}

TEST_CASE("too few for the least is a failure that leaves nothing") {
  Bench bench;
  bench.cloud.stock = {{"r1a", 1}, {"r1b", 1}, {"r2a", 1}};
  bench.spec.holding = {.least = 2};
  CHECK(failure_of([&] { bench.create(); }).kind() == ErrorKind::capacity);
  CHECK(bench.alive().empty());
  CHECK(bench.shop.store.clusters().empty());
}

TEST_CASE("what was got is held until the missing ones can be had") {
  Bench bench;
  bench.cloud.stock = {{"r1a", 3}, {"r1b", 0}, {"r2a", 0}};
  bench.spec.holding = {.longest = 10min};
  bench.cloud.on_launch = [&] {
    if (bench.shop.clock.now() > Clock::time_point(1min)) bench.cloud.stock["r1a"] = 4;
  };
  const ClusterView view = bench.create();
  CHECK(view.nodes.size() == 4);
  CHECK(bench.alive() == Zones{{"r1a", 4}});
  CHECK(bench.cloud.all.size() == 4);
}

TEST_CASE("the whole of another place takes the held part's place") {
  Bench bench;
  bench.cloud.stock = {{"r1a", 3}, {"r1b", 0}, {"r2a", 0}};
  bench.spec.holding = {.longest = 10min};
  bench.cloud.on_launch = [&] {
    if (bench.shop.clock.now() > Clock::time_point(1min)) bench.cloud.stock["r2a"] = 4;
  };
  const ClusterView view = bench.create();
  CHECK(bench.alive() == Zones{{"r2a", 4}});
  CHECK(bench.provider.places(view.cluster).here == 2);
}

TEST_CASE("holding ends at its time, with what is enough or with nothing") {
  Bench bench;
  bench.cloud.stock = {{"r1a", 3}, {"r1b", 0}, {"r2a", 0}};
  bench.spec.holding = {.longest = 10min};
  SUBCASE("with enough") {
    bench.spec.holding.least = 3;
    CHECK(bench.create().nodes.size() == 3);
    CHECK(bench.alive() == Zones{{"r1a", 3}});
  }
  SUBCASE("with too little") {
    CHECK(failure_of([&] { bench.create(); }).kind() == ErrorKind::capacity);
    CHECK(bench.alive().empty());
  }
  CHECK(bench.shop.clock.now() >= Clock::time_point(10min));
  CHECK(bench.shop.clock.now() <= Clock::time_point(10min + 1s));
}

TEST_CASE("holding ends once the idle machines have cost what they may") {
  Bench bench;
  bench.cloud.stock = {{"r1a", 3}, {"r1b", 0}, {"r2a", 0}};
  bench.spec.holding = {.longest = 24h,
                        .most_cost = Money{15, kUsd}};  // 3 x 10 an hour: half an hour.
  CHECK(failure_of([&] { bench.create(); }).kind() == ErrorKind::capacity);
  CHECK(bench.shop.clock.now() >= Clock::time_point(30min));
  CHECK(bench.shop.clock.now() <= Clock::time_point(32min));
}

TEST_CASE("a cloud that gives all or nothing is asked for less") {
  Bench bench;
  bench.cloud.gives_parts = false;
  bench.cloud.stock = {{"r1a", 3}, {"r1b", 0}, {"r2a", 0}};
  bench.spec.holding = {.least = 3};
  CHECK(bench.create().nodes.size() == 3);
  CHECK(bench.alive() == Zones{{"r1a", 3}});
}

TEST_CASE("where a network, an image or a right is not to be had the next place is asked") {
  for (const ErrorKind kind : {ErrorKind::capacity, ErrorKind::not_found, ErrorKind::denied}) {
    Bench bench;
    bench.cloud.on_network = [&](const cloud::Site& site) {
      if (site.region == "r1") throw Error(kind, "VpcLimitExceeded");
    };
    bench.create();
    CHECK(bench.alive() == Zones{{"r2a", 4}});
    CHECK(bench.shop.events.moves.size() == 2);
  }
}

TEST_CASE("what no other place can mend ends the creation at the first") {
  for (const ErrorKind kind : {ErrorKind::usage, ErrorKind::transient}) {
    Bench bench;
    int asked = 0;
    bench.cloud.on_network = [&](const cloud::Site&) {
      ++asked;
      throw Error(kind, "the network is lost");
    };
    CHECK(failure_of([&] { bench.create(); }).kind() == kind);
    CHECK(asked == 1);
  }
}

TEST_CASE("a refusal of which nobody knows what it is about may be about one place alone") {
  Bench network;
  network.cloud.on_network = [&](const cloud::Site& site) {
    if (site.zone == "r1a") throw Error(ErrorKind::remote, "refused: Odd.Code");
  };
  network.create();
  CHECK(network.alive() == Zones{{"r1b", 4}});
  Bench machines;
  machines.cloud.on_launch = [&] {
    if (machines.cloud.launches.empty()) {
      machines.cloud.launches.push_back({});
      throw Error(ErrorKind::remote, "refused: Odd.Code");
    }
  };
  machines.create();
  CHECK(machines.alive() == Zones{{"r1b", 4}});
}

TEST_CASE("a refusal that every place gives ends the creation after a few of them") {
  Bench bench;
  auto spec = std::get<cloud::CloudSpec>(bench.spec.provider_spec);
  for (int i = 0; i < 12; ++i)
    spec.places.push_back({{"r2", "r2" + std::to_string(i)}, "big", Money{10.0, kUsd}});
  bench.spec.provider_spec = spec;
  int asked = 0;
  bench.cloud.on_launch = [&] {
    ++asked;
    throw Error(ErrorKind::remote, "refused: InvalidUserData");
  };
  CHECK(failure_of([&] { bench.create(); }).kind() == ErrorKind::remote);
  CHECK(asked == 4);
}

TEST_CASE("where every place refuses all reasons are told, each once") {
  Bench bench;
  bench.cloud.stock = {{"r2a", 0}};
  bench.cloud.on_network = [&](const cloud::Site& site) {
    if (site.region == "r1") throw Error(ErrorKind::not_found, "no key pair");
  };
  const Error failure = failure_of([&] { bench.create(); });
  CHECK(failure.kind() == ErrorKind::not_found);
  const std::string told = failure.what();
  CHECK(told.find("no key pair") == told.rfind("no key pair"));
  CHECK(told.find("no stock in r2a") != std::string::npos);
  CHECK(bench.shop.store.clusters().empty());
}

TEST_CASE("a place without a network costs nothing of what is held at another") {
  Bench bench;
  bench.cloud.stock = {{"r1a", 3}, {"r2a", 0}};
  bench.cloud.on_network = [&](const cloud::Site& site) {
    if (site.zone == "r1b") throw Error(ErrorKind::capacity, "SubnetLimitExceeded");
  };
  bench.spec.holding = {.least = 3};
  CHECK(bench.create().nodes.size() == 3);
  CHECK(bench.alive() == Zones{{"r1a", 3}});
}

TEST_CASE("a machine that does not start is replaced where it is") {
  Bench bench;
  bool has_failed = false;
  bench.shop.reachability.on_wait = [&] {
    if (std::exchange(has_failed, true)) return;
    bench.cloud.all[2].state = MachineState::failed;
    bench.shop.reachability.failures.emplace("demo-2", Error(ErrorKind::capacity, "it is gone"));
  };
  SUBCASE("once") {
    bench.cloud.on_launch = [&] { bench.shop.reachability.failures.clear(); };
    const ClusterView view = bench.create();
    CHECK(bench.alive() == Zones{{"r1a", 4}});
    CHECK(view.nodes[2].instance_id == "m4");
    CHECK(bench.shop.events.replaced.size() == 1);
  }
  SUBCASE("and where that does not help the cluster goes elsewhere") {
    bench.cloud.on_launch = [&] {
      if (bench.cloud.launches.size() == 2) bench.shop.reachability.failures.clear();
    };
    bench.create();
    CHECK(bench.alive() == Zones{{"r1b", 4}});
  }
}

TEST_CASE("a machine that ends while its answer is awaited is replaced at once, with the cause") {
  Bench bench;
  bool has_ended = false;
  bench.shop.reachability.on_wait = [&] {
    if (std::exchange(has_ended, true)) return;
    bench.cloud.all[2].state = MachineState::ending;
    bench.shop.reachability.failures.emplace("demo-2", Error(ErrorKind::timeout, "no answer"));
  };
  bench.cloud.on_launch = [&] { bench.shop.reachability.failures.clear(); };
  const ClusterView view = bench.create();
  CHECK(view.nodes[2].instance_id == "m4");
  REQUIRE(bench.shop.events.replaced.size() == 1);
  CHECK(bench.shop.events.replaced[0].find("machine m2 of demo-2") != std::string::npos);
}

TEST_CASE("a creation that died while it held machines at two places leaves none double") {
  Bench bench;
  bench.cloud.stock = {{"r1a", 1}, {"r2a", 0}};
  bench.spec.holding = {.longest = 10min};
  int launches = 0;
  bench.cloud.on_launch = [&] {
    if (++launches == 3) throw Error(ErrorKind::internal, "killed");
  };
  bench.cloud.stock["r1b"] = 3;
  CHECK_THROWS_AS(create_cluster(bench.tools, bench.spec, OnFailure::keep), Error);
  CHECK(bench.cloud.alive("r1a") == 0);
  CHECK(bench.cloud.alive("r1b") == 3);
  CHECK(bench.cloud.alive("r2a") == 0);
}

TEST_CASE("a trial of another place that was killed is repeated under its tokens") {
  Bench bench;
  bench.cloud.stock = {{"r1a", 1}, {"r2a", 0}};
  bench.spec.holding = {.least = 3};
  struct Killed {};
  bench.shop.events.on_finished = [&] {
    if (bench.cloud.alive("r1b") > 0) throw Killed();
  };
  CHECK_THROWS_AS(bench.create(), Killed);
  REQUIRE(bench.alive() == Zones{{"r1a", 1}, {"r1b", 4}});
  bench.shop.events.on_finished = {};
  bench.cloud.newest_image = "image-2";
  SUBCASE("where its machines are not listed yet") {
    for (const cloud::Machine& machine : bench.cloud.all)
      if (machine.site.zone == "r1b") bench.cloud.unlisted.insert(machine.id);
  }
  SUBCASE("where they are listed") {}
  bench.create();
  CHECK(bench.alive() == Zones{{"r1b", 4}});
  CHECK(bench.cloud.all.size() == 5);
  for (const cloud::Launch& launch : bench.cloud.launches)
    CHECK(launch.image == "image-1");
}

TEST_CASE("a trial of another place that was given back is not repeated") {
  Bench bench;
  bench.cloud.stock = {{"r1a", 2}, {"r1b", 1}, {"r2a", 0}};
  bench.spec.holding = {.least = 3};
  struct Killed {};
  bench.shop.events.on_finished = [&] {
    if (bench.cloud.launches.size() == 3) throw Killed();  // After that in r2a.
  };
  CHECK_THROWS_AS(bench.create(), Killed);
  REQUIRE(bench.alive() == Zones{{"r1a", 2}});
  bench.shop.events.on_finished = {};
  bench.cloud.stock["r1b"] = 4;
  bench.create();
  CHECK(bench.alive() == Zones{{"r1b", 4}});
}

TEST_CASE("a machine that was got and is not listed yet is not asked for again") {
  Bench bench;
  bench.cloud.gives_parts = false;
  bench.cloud.lists_late = true;
  bench.cloud.stock = {{"r1a", 3}, {"r1b", 0}, {"r2a", 0}};
  bench.spec.holding = {.least = 3};
  CHECK(bench.create().nodes.size() == 3);
  CHECK(bench.cloud.all.size() == 3);
}

TEST_CASE("a machine that a killed run has put on record is awaited before others are asked for") {
  Bench bench;
  bench.cloud.lists_late = true;
  bench.cloud.stock = {{"r1a", 2}, {"r1b", 0}, {"r2a", 0}};
  bench.spec.holding = {.least = 3, .longest = 60s};
  struct Killed {};
  int steps = 0;
  bench.shop.events.on_finished = [&] {
    if (++steps == 7) throw Killed();  // The other nodes have new tokens, not asked for yet.
  };
  CHECK_THROWS_AS(bench.create(), Killed);
  REQUIRE(bench.cloud.launches.size() == 3);
  REQUIRE(bench.alive() == Zones{{"r1a", 2}});
  bench.shop.events.on_finished = {};
  bench.cloud.stock = {};
  bench.cloud.lists_late = false;
  bool are_listed = true;
  SUBCASE("they are listed then") {}
  SUBCASE("they are listed as machines of other nodes") {
    for (cloud::Machine& machine : bench.cloud.all)
      machine.index += 2;
  }
  SUBCASE("they are never listed") {
    are_listed = false;
  }
  std::chrono::milliseconds waited{0};
  cloud::CloudProvider next_run(
      bench.cloud, cloud::Owner(bench.folder.path() / "owners" / "fake"),
      [&](std::chrono::milliseconds pause, const Cancel&) {
        waited += pause;
        if (are_listed && waited >= 2s) bench.cloud.unlisted.clear();
      },
      bench.shop.cancel);
  bench.tools.providers = [&](const std::string&) -> Provider& { return next_run; };
  std::set<std::string> machines;
  for (const state::Node& node : bench.create().nodes)
    machines.insert(node.instance_id);
  CHECK(machines.size() == 4);
  CHECK(bench.cloud.all.size() == (are_listed ? 4 : 6));
  CHECK(waited < 20s);
  CHECK(waited >= (are_listed ? 2s : 15s));
}

TEST_CASE("what a killed run had at another place is ended even where it is listed only later") {
  Bench bench;
  const ClusterView view = bench.create();
  const state::IntentId trial = bench.shop.store.open_intent({.id = {},
                                                              .cluster = view.cluster.id,
                                                              .action = std::string(kTryPlace),
                                                              .subject = "demo",
                                                              .token = {},
                                                              .detail = {}});
  settle(bench.tools, HalfMade::leave);
  cloud::Machine late = bench.cloud.all[1];
  late.id = "late";
  late.site = {"r1", "r1b"};
  bench.cloud.all.push_back(late);
  settle(bench.tools, HalfMade::leave);
  CHECK(bench.alive() == Zones{{"r1a", 4}});
  CHECK(bench.shop.store.open_intents().size() == 1);  // For there may be more of it.
  bench.shop.store.close_intent(trial);
}

}  // namespace
}  // namespace fastgpu::provision
