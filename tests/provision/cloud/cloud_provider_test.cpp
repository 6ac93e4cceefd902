#include "provision/cloud/cloud_provider.hpp"

#include <doctest/doctest.h>

#include "fakes/fake_cloud.hpp"
#include "provision/guards.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::provision::cloud {
namespace {

using test::failure_of;
using test::FakeCloud;
using test::mentions;

struct Bench {
  test::TempDirectory folder;
  FakeCloud cloud;
  Cancel cancel;
  int waits = 0;
  std::chrono::milliseconds waited{0};
  std::function<void()> on_wait;
  CloudProvider provider{cloud, Owner(folder.path() / "owners" / "fake"),
                         [this](std::chrono::milliseconds time, const Cancel&) {
                           ++waits;
                           waited += time;
                           if (on_wait) on_wait();
                         },
                         cancel};
  state::Cluster cluster{.id = {"c1"}, .name = {"t"}, .provider = "fake", .user = "root"};

  Bench() {
    cluster.provider_spec = CloudSpec{
        .request = {.type = "big"},
        .places = {
            {{"r1", "r1a"}, "big", {}}, {{"r1", "r1b"}, "big", {}}, {{"r2", "r2a"}, "big", {}}}};
  }

  static std::vector<NodeRequest> requests(int count) {
    std::vector<NodeRequest> all;
    for (int index = 0; index < count; ++index)
      all.push_back({.index = index,
                     .name = {"t-" + std::to_string(index)},
                     .token = "token" + std::to_string(index),
                     .host_private_key = Secret("PRIVATE"),
                     .host_public_key = "ssh-ed25519 HOST",
                     .authorized_key = "ssh-ed25519 USER"});
    return all;
  }

  std::vector<HostResult<Instance>> create(int count) {
    cluster.network = provider.prepare(cluster, true);
    return provider.create(cluster, requests(count), cancel);
  }

  std::vector<state::Node> nodes(int count) const {
    std::vector<state::Node> all;
    for (int index = 0; index < count; ++index)
      all.push_back(
          {.cluster = cluster.id, .index = index, .name = {"t-" + std::to_string(index)}});
    return all;
  }

  /// The request with only some public addresses.
  void give_addresses_to(PublicAddress which) {
    CloudSpec spec = cluster.cloud();
    spec.public_address = which;
    cluster.provider_spec = spec;
  }

  int alive() const {
    return static_cast<int>(std::ranges::count_if(cloud.all, [](const Machine& machine) {
      return machine.state != MachineState::gone && machine.state != MachineState::ending;
    }));
  }
};

TEST_CASE("who we are is asked only where the cloud has not accepted anything of ours yet") {
  Bench bench;
  bench.provider.check_usable();
  CHECK(bench.cloud.accounts_asked == 1);
  bench.cloud.is_known = true;
  bench.provider.check_usable();
  CHECK(bench.cloud.accounts_asked == 1);
}

TEST_CASE("a cluster's new name is written on its machines, and found there by others") {
  Bench bench;
  bench.create(3);
  bench.cluster.name = {"prod"};
  bench.provider.rename(bench.cluster, bench.cancel);
  bench.cluster.name = {"live"};
  bench.provider.rename(bench.cluster, bench.cancel);
  for (const Machine& machine : bench.cloud.all) {
    CHECK(machine.marks.cluster_name == "live");
    CHECK(machine.launched_as == "t");
  }
}

TEST_CASE("where the head alone has a public address it is asked for first, and by itself") {
  Bench bench;
  bench.give_addresses_to(PublicAddress::head);
  for (const auto& result : bench.create(3))
    CHECK(result.ok());
  REQUIRE(bench.cloud.launches.size() == 2);
  CHECK(bench.cloud.launches[0].count == 1);
  CHECK(bench.cloud.launches[0].has_public_address);
  CHECK(bench.cloud.launches[1].count == 2);
  CHECK_FALSE(bench.cloud.launches[1].has_public_address);
}

TEST_CASE("without the head, through which the others are reached, they are not asked for") {
  Bench bench;
  bench.give_addresses_to(PublicAddress::head);
  bench.cloud.stock["r1a"] = 0;
  for (const auto& result : bench.create(3))
    CHECK(result.error().kind() == ErrorKind::capacity);
  CHECK(bench.cloud.launches.size() == 1);
}

TEST_CASE("all nodes are asked for in as few launches as the cloud allows, in one zone") {
  Bench bench;
  bench.cloud.most_a_launch = 3;
  for (const auto& result : bench.create(7))
    CHECK(result.ok());
  CHECK(bench.cloud.launches.size() == 3);
  for (const Launch& launch : bench.cloud.launches) {
    CHECK(launch.site == Site{"r1", "r1a"});
    CHECK(launch.image == "image-1");
    CHECK(launch.network.at("subnet") == "subnet-r1a");
    CHECK(launch.marks.cluster.value == "c1");
    CHECK(!launch.marks.owner.empty());
    CHECK(launch.user_data.reveal().find("PRIVATE") != std::string::npos);
  }
}

TEST_CASE("machines are launched with their end: the cloud's timer, or their own") {
  using namespace std::chrono_literals;
  const auto launched = [](bool has_timer, const Guards& guards) {
    Bench bench;
    bench.cloud.has_timer = has_timer;
    bench.cluster.created = state::TimePoint(1000h);
    bench.cluster.provider_spec = CloudSpec{.places = {{{"r1", "r1a"}, "big", Money{2, kUsd}}}};
    bench.cluster.guards = guards;
    bench.create(1);
    return bench.cloud.launches.front();
  };
  const auto shuts_down = [](const Launch& launch) {
    return launch.user_data.reveal().find("\"+480\"") != std::string::npos;
  };
  const Launch timed = launched(true, {.max_life = 8h});
  CHECK(timed.release_at == state::TimePoint(1008h));
  CHECK_FALSE(shuts_down(timed));
  CHECK(launched(true, {.max_life = 8h, .max_cost = Money{10, kUsd}}).release_at ==
        state::TimePoint(1005h));
  const Launch own = launched(false, {.max_life = 8h});
  CHECK(own.release_at);
  CHECK(shuts_down(own));
  const Launch stopping = launched(false, {.max_life = 8h, .idle_stop = 1h});
  CHECK_FALSE(stopping.release_at);  // Off is stopped.
  CHECK(shuts_down(stopping));
  CHECK(launched(false, {.idle_delete = 1h}).release_at);
  CHECK_FALSE(launched(false, {}).release_at);
}

TEST_CASE("nodes that are there already are not asked for again") {
  Bench bench;
  bench.create(2);
  const auto again = bench.create(3);
  CHECK(bench.cloud.launches.size() == 2);
  CHECK(bench.cloud.launches.back().first == 2);
  CHECK(bench.alive() == 3);
  CHECK(again[0].value().id == "m0");
}

TEST_CASE(
    "a creation that is repeated before the cloud lists its machines yields the same machines") {
  Bench bench;
  bench.create(2);
  auto hidden = std::move(bench.cloud.all);
  bench.cloud.all.clear();
  const auto again = bench.create(2);
  CHECK(again[1].value().id == "m1");
  CHECK(bench.cloud.all.empty());
  CHECK(hidden.size() == 2);
}

TEST_CASE(
    "where a zone has too few machines the others are told to be missing, as a want of room") {
  Bench bench;
  bench.cloud.stock["r1a"] = 1;
  const auto results = bench.create(3);
  CHECK(results[0].ok());
  REQUIRE(!results[1].ok());
  CHECK(results[1].error().kind() == ErrorKind::capacity);
  CHECK(mentions(results[1].error(), "1 of 3 big could be had in r1a"));
}

TEST_CASE("a cluster stands at the place whose number its network has") {
  Bench bench;
  bench.create(1);
  CHECK(bench.provider.places(bench.cluster).count == 3);
  CHECK(bench.provider.places(bench.cluster).here == 0);
  for (const std::size_t place : {1, 2}) {
    bench.cluster.network = bench.provider.network_at(bench.cluster, place);
    CHECK(bench.provider.places(bench.cluster).here == place);
    bench.create(1);
    CHECK(bench.cloud.launches.back().site.zone == (place == 1 ? "r1b" : "r2a"));
  }
}

TEST_CASE("machines that were left at another place are strays") {
  Bench bench;
  bench.create(1);
  bench.cluster.network = bench.provider.network_at(bench.cluster, 1);
  bench.create(1);
  const auto listed = bench.provider.list(bench.cluster, bench.cancel);
  REQUIRE(listed.size() == 2);
  CHECK(listed[0].token == "stray m0");
  CHECK(listed[1].token.empty());
}

TEST_CASE("no image is a reason to stop before anything is made") {
  Bench bench;
  CloudSpec spec = bench.cluster.cloud();
  spec.image = "none";
  bench.cluster.provider_spec = spec;
  CHECK(failure_of([&] { bench.create(1); }).kind() == ErrorKind::not_found);
  CHECK(bench.cloud.networks.empty());
}

TEST_CASE("machines are stopped and started in calls of the cloud's size") {
  Bench bench;
  bench.create(3);
  for (const auto& result : bench.provider.stop(bench.cluster, bench.nodes(3), bench.cancel)) {
    REQUIRE(result.ok());
    CHECK(result.value().state == InstanceState::stopped);
  }
  for (const auto& result : bench.provider.start(bench.cluster, bench.nodes(3), bench.cancel))
    CHECK(result.value().state == InstanceState::running);
  CHECK(bench.cloud.calls == std::vector<std::size_t>{2, 1, 2, 1});
}

TEST_CASE("machines that boot, or that the cloud does not list yet, are stopped once they can be") {
  Bench bench;
  bench.create(2);
  bench.cloud.all[0].state = MachineState::pending;
  const Machine unlisted = bench.cloud.all[1];
  bench.cloud.all.pop_back();
  bench.on_wait = [&] {
    if (bench.waits == 1) bench.cloud.all.push_back(unlisted);
    if (bench.waits == 2) bench.cloud.all[0].state = MachineState::running;
  };
  for (const auto& result : bench.provider.stop(bench.cluster, bench.nodes(2), bench.cancel))
    CHECK(result.value().state == InstanceState::stopped);
  CHECK(bench.cloud.calls == std::vector<std::size_t>{2});
}

TEST_CASE("machines that are stopping are started once they have stopped") {
  Bench bench;
  bench.create(1);
  bench.cloud.all[0].state = MachineState::stopping;
  bench.on_wait = [&] { bench.cloud.all[0].state = MachineState::stopped; };
  const auto started = bench.provider.start(bench.cluster, bench.nodes(1), bench.cancel);
  CHECK(started[0].value().state == InstanceState::running);
}

TEST_CASE("a machine that never comes to be listed does not keep the others from being stopped") {
  Bench bench;
  bench.create(2);
  bench.cloud.all.pop_back();
  const auto stopped = bench.provider.stop(bench.cluster, bench.nodes(2), bench.cancel);
  CHECK(stopped[0].value().state == InstanceState::stopped);
  REQUIRE_FALSE(stopped[1].ok());
  CHECK(mentions(stopped[1].error(), "is gone"));
}

TEST_CASE("a node that was asked for and never heard of again is ended by its index") {
  Bench bench;
  bench.create(2);
  bench.provider.destroy(bench.cluster, std::vector{bench.nodes(2)[1]});
  CHECK(bench.cloud.all[0].state == MachineState::running);
  CHECK(bench.cloud.all[1].state == MachineState::ending);
}

TEST_CASE(
    "the network goes once every machine is gone, also one that was not known, in any region") {
  Bench bench;
  bench.create(2);
  bench.cloud.end_after = 3;
  bench.cluster.network = CloudPlacement{.place = 2, .image = "i"};
  bench.create(1);
  bench.provider.release(bench.cluster, {});
  CHECK(bench.alive() == 0);
  CHECK(bench.cloud.networks.empty());
  CHECK(bench.waits >= 3);
}

TEST_CASE("key pairs are looked up where the cluster stands, once, and open its machines") {
  Bench bench;
  CloudSpec spec = bench.cluster.cloud();
  spec.key_pairs = {"mine"};
  bench.cluster.provider_spec = spec;
  bench.create(1);
  CHECK(bench.cluster.placement().key_pairs == std::vector<std::string>{"ssh-rsa miner1"});
  CHECK(bench.cloud.launches.at(0).user_data.reveal().find("ssh-rsa miner1") != std::string::npos);
  bench.cluster.network = CloudPlacement{.place = 2};
  CHECK(std::get<CloudPlacement>(bench.provider.prepare(bench.cluster, true)).key_pairs ==
        std::vector<std::string>{"ssh-rsa miner2"});
  spec.key_pairs = {"unknown"};
  bench.cluster.provider_spec = spec;
  bench.cluster.network = {};
  CHECK(failure_of([&] { bench.provider.prepare(bench.cluster, true); }).kind() ==
        ErrorKind::not_found);
}

TEST_CASE("who was told to end, and is shown alive, is told again only after some seconds") {
  using namespace std::chrono_literals;
  for (const auto& [alive, times] : {std::pair(2s, 1), std::pair(6s, 2)}) {
    Bench bench;
    bench.create(1);
    bench.provider.destroy(bench.cluster, bench.nodes(1));
    bench.cloud.calls.clear();
    bench.waited = 0ms;
    bench.on_wait = [&bench, end = alive] {
      bench.cloud.all[0].state = bench.waited < end ? MachineState::running : MachineState::gone;
    };
    bench.provider.release(bench.cluster, {});
    CHECK(bench.cloud.calls.size() + 1 == static_cast<std::size_t>(times));
  }
}

TEST_CASE("a network that stays in use is given up after its time, or after one look") {
  using namespace std::chrono_literals;
  for (const auto limit : {0ms, 30'000ms}) {
    Bench bench;
    bench.create(1);
    bench.cloud.in_use_for = 1000;
    bench.provider.destroy(bench.cluster, bench.nodes(1));
    bench.waited = 0ms;
    const auto stays = bench.provider.release(bench.cluster, {.network = limit});
    REQUIRE(stays);
    CHECK(stays->kind() == ErrorKind::conflict);
    CHECK(bench.alive() == 0);
    CHECK(bench.waited >= limit);
    CHECK(bench.waited < 2 * (limit + 10s));  // Two regions wait at the same time.
  }
}

TEST_CASE("machines that do not end in time are a timeout") {
  using namespace std::chrono_literals;
  Bench bench;
  bench.create(1);
  bench.cloud.end_after = 1000;
  bench.waited = 0ms;
  const Error e = failure_of([&] { bench.provider.release(bench.cluster, {.in_all = 5s}); });
  CHECK(e.kind() == ErrorKind::timeout);
  CHECK(bench.waited < 8s);
  CHECK(bench.alive() == 0);
}

TEST_CASE("a network that is still in use is looked at again") {
  Bench bench;
  bench.create(1);
  bench.cloud.in_use_for = 2;
  bench.provider.release(bench.cluster, {});
  CHECK(bench.cloud.networks.empty());
}

TEST_CASE("machines whose names somebody changed are known by their ids") {
  Bench bench;
  bench.create(3);
  std::vector<state::Node> nodes = bench.nodes(3);
  for (state::Node& node : nodes)
    node.instance_id = bench.cloud.all[static_cast<std::size_t>(node.index)].id;
  for (Machine& machine : bench.cloud.all)
    if (machine.index > 0) machine.index = -1;  // Some clouds tell it by the name alone.
  const auto found = bench.provider.list(bench.cluster, bench.cancel);
  for (const Instance& instance : found)
    CHECK(instance.token.empty());  // None is a stray.
  for (const auto& result : bench.provider.stop(bench.cluster, nodes, bench.cancel))
    CHECK(result.ok());
  for (const Machine& machine : bench.cloud.all)
    CHECK(machine.state == MachineState::stopped);
  for (const auto& result : bench.provider.start(bench.cluster, nodes, bench.cancel))
    CHECK(result.ok());
  auto requests = Bench::requests(3);
  for (NodeRequest& request : requests)
    request.instance_id = nodes[static_cast<std::size_t>(request.index)].instance_id;
  bench.cluster.network = bench.provider.prepare(bench.cluster, true);
  bench.provider.create(bench.cluster, requests, bench.cancel);
  CHECK(bench.cloud.all.size() == 3);
}

TEST_CASE("what is on record of a network is told to the cloud, whatever it is called by now") {
  Bench bench;
  bench.create(1);
  bench.cluster.network = bench.provider.prepare(bench.cluster, true);
  CHECK(bench.cloud.network_wishes.back().known.at("subnet") == "subnet-r1a");
  bench.provider.release(bench.cluster, {});
  CHECK(bench.cloud.known_parts.at("subnet") == "subnet-r1a");
}

TEST_CASE("the user's own network is found by its id once it is on record, and is not removed") {
  Bench bench;
  CloudSpec spec = bench.cluster.cloud();
  spec.vpc = "mine";
  bench.cluster.provider_spec = spec;
  CloudPlacement placement{.parts = {{"vpc", "vpc-7"}, {"security-group", "sg-7"}}};
  bench.cluster.network = placement;
  bench.provider.prepare(bench.cluster, true);
  CHECK(bench.cloud.network_wishes.back().vpc == "vpc-7");
  bench.provider.release(bench.cluster, {});
  CHECK(bench.cloud.known_parts == Parts{{"security-group", "sg-7"}});
}

TEST_CASE("orphans are ours alone: of no other owner, and of no cluster that is known") {
  Bench bench;
  CHECK(bench.provider.orphans({}).found.empty());  // Nothing was ever made: nobody is asked.
  bench.create(1);
  Machine foreign = bench.cloud.all[0];
  foreign.id = "foreign";
  foreign.marks = {{"c2"}, "t", "somebody else"};
  bench.cloud.all.push_back(foreign);
  bench.cloud.parts_found = {{"vpc", "vpc-1", bench.cloud.all[0].marks},
                             {"subnet", "subnet-1", bench.cloud.all[0].marks},
                             {"vpc", "vpc-2", foreign.marks}};
  const std::vector<state::ClusterId> known = {{"c1"}};
  CHECK(bench.provider.orphans(known).found.empty());
  const auto orphans = bench.provider.orphans({}).found;
  REQUIRE(orphans.size() == 2);
  CHECK(to_text(orphans[0]) == "instance r1/m0");
  CHECK(to_text(orphans[1]) == "network r1/c1");
  for (const Orphan& orphan : orphans)
    bench.provider.remove_orphan(orphan);
  CHECK(bench.cloud.networks.empty());
}

TEST_CASE("a region that cannot be asked for orphans is named and hides none of the others") {
  Bench bench;
  bench.create(1);
  bench.cloud.closed_regions = {"r2"};
  const Orphans orphans = bench.provider.orphans({});
  REQUIRE(orphans.found.size() == 1);
  CHECK(to_text(orphans.found[0]) == "instance r1/m0");
  REQUIRE(orphans.failures.size() == 1);
  CHECK(std::string(orphans.failures[0].what()) == "region r2: you may not list them");
}

TEST_CASE("images of ours that have failed are orphans, and those that are whole are none") {
  Bench bench;
  bench.create(1);
  const std::string owner = bench.cloud.all[0].marks.owner;
  bench.cloud.images_made = {
      {.image = {.id = "m-1"}, .state = ImageState::failed, .marks = {.owner = owner}},
      {.image = {.id = "m-2"}, .state = ImageState::available, .marks = {.owner = owner}},
      {.image = {.id = "m-3"}, .state = ImageState::failed, .marks = {.owner = "another"}}};
  const std::vector<state::ClusterId> known = {{"c1"}};
  const auto orphans = bench.provider.orphans(known).found;
  REQUIRE(orphans.size() == 1);
  CHECK(to_text(orphans[0]) == "image r1/m-1");
  bench.provider.remove_orphan(orphans[0]);
  CHECK(bench.cloud.images_made.size() == 2);
}

TEST_CASE(
    "a cluster of which a machine was taken over has no orphans, whose mark the rest carries") {
  Bench bench;
  bench.create(2);
  bench.cloud.parts_found = {{"vpc", "vpc-1", bench.cloud.all[0].marks}};
  bench.cloud.all[1].marks.owner = "somebody else";
  CHECK(bench.provider.orphans({}).found.empty());
}

TEST_CASE("a range that is closed may no longer log in, and the others may") {
  Bench bench;
  const IpRange home = IpRange::parse("192.0.2.7/32");
  const IpRange cafe = IpRange::parse("198.51.100.0/24");
  state::CloudSpec spec = bench.cluster.cloud();
  spec.ssh_from = {home, cafe};
  bench.cluster.provider_spec = spec;
  bench.create(1);
  bench.provider.close_ranges(bench.cluster, std::vector{cafe}, bench.cancel);
  CHECK(bench.provider.open_ranges(bench.cluster, bench.cancel) == std::vector{home});
}

TEST_CASE("the list says of a machine that was taken over who has it, and when") {
  Bench bench;
  bench.create(2);
  const std::vector<std::string> ids = {bench.cloud.all[1].id};
  bench.cloud.tag("r1", ids, {.owner = "1a2b3c4d", .taken = "20261122T071800Z_laptop"}, Cancel());
  const auto found = bench.provider.list(bench.cluster, bench.cancel);
  REQUIRE(found.size() == 2);
  CHECK(found[0].owner.empty());
  CHECK(found[1].owner == "laptop on 2026-11-22 at 07:18 UTC (state directory 1a2b3c4d)");
}

TEST_CASE("without credentials no cloud is asked for orphans") {
  Bench bench;
  bench.create(1);
  CHECK_FALSE(bench.provider.orphans({}).not_asked);
  bench.cloud.credentials = false;
  const Orphans orphans = bench.provider.orphans({});
  CHECK(orphans.found.empty());
  REQUIRE(orphans.not_asked);
  CHECK(orphans.not_asked->kind() == ErrorKind::denied);
}

}  // namespace
}  // namespace fastgpu::provision::cloud
