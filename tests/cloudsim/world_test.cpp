#include "cloudsim/world/world.hpp"

#include <doctest/doctest.h>

namespace fastgpu::cloudsim {
namespace {

const Scope kScope{"acme", "1", "north"};

/// Returns a world with one zone and a type of 8 vCPUs, of which there are `stock`, with a quota of
/// `vcpus`.
SimulatedWorld world_with(std::int64_t stock, double vcpus) {
  SimulatedWorld world(1, Settings{.boot = 10s, .stop = 5s, .terminate = 5s, .listing_delay = 0ms});
  Catalogue& catalogue = world.catalogues["acme"];
  catalogue.regions["north"] = {"north-1"};
  MachineType& type = catalogue.types["big"];
  type.name = "big";
  type.family = "P";
  type.vcpus = 8;
  catalogue.offers[{"north-1", "big"}] = Offer{3.6, 1.0, stock, stock};
  catalogue.quotas[{"*", "P"}] = vcpus;
  return world;
}

LaunchOrder order_of(int minimum, int maximum, const std::string& token = "") {
  LaunchOrder order;
  order.scope = kScope;
  order.like.type = "big";
  order.like.zone = "north-1";
  order.minimum = minimum;
  order.maximum = maximum;
  order.token = token;
  return order;
}

std::vector<std::string> launch(SimulatedWorld& world, const LaunchOrder& order) {
  return world.launch(order, "i-", 8);
}

template <class Act>
ApiFailureKind failure_of(Act act) {
  try {
    act();
  } catch (const ApiFailure& failure) {
    return failure.kind();
  }
  FAIL("there was no failure");
  return ApiFailureKind::in_use;
}

void pass(SimulatedWorld& world, milliseconds time) {
  world.advance(time);
  world.settle();
}

TEST_SUITE_BEGIN("cloudsim/world");

TEST_CASE("an instance goes from pending to running, stopped and terminated, each in its time") {
  SimulatedWorld world = world_with(-1, 1000);
  Instance& made = world.instances.at(launch(world, order_of(1, 1)).front());
  CHECK(made.state == State::pending);

  pass(world, 10s);
  CHECK(made.state == State::running);

  world.stop(made);
  CHECK(made.state == State::stopping);
  pass(world, 5s);
  CHECK(made.state == State::stopped);

  world.terminate(made);
  pass(world, 5s);
  CHECK(made.state == State::terminated);
}

TEST_CASE("a batch gets what the stock has, but nothing below its minimum") {
  SimulatedWorld world = world_with(3, 1000);
  CHECK(launch(world, order_of(1, 2)).size() == 2);
  CHECK(failure_of([&] { launch(world, order_of(2, 2)); }) == ApiFailureKind::no_stock);
  CHECK(launch(world, order_of(1, 5)).size() == 1);
}

TEST_CASE("stock comes back when an instance stops, and another may take it before it starts") {
  SimulatedWorld world = world_with(1, 1000);
  Instance& first = world.instances.at(launch(world, order_of(1, 1)).front());
  pass(world, 10s);
  world.stop(first);
  pass(world, 5s);

  CHECK(launch(world, order_of(1, 1)).size() == 1);
  CHECK(failure_of([&] { world.start(first); }) == ApiFailureKind::no_stock);
}

TEST_CASE("a quota counts the vCPUs of all that is not terminated") {
  SimulatedWorld world = world_with(-1, 16);
  const auto ids = launch(world, order_of(2, 2));
  CHECK(failure_of([&] { launch(world, order_of(1, 1)); }) == ApiFailureKind::quota);

  world.terminate(world.instances.at(ids.front()));
  pass(world, 5s);
  CHECK(launch(world, order_of(1, 1)).size() == 1);
}

TEST_CASE("a token answers twice with the same instances, and not to another request") {
  SimulatedWorld world = world_with(-1, 1000);
  LaunchOrder order = order_of(2, 2, "t");
  order.fingerprint = "a";
  const auto ids = launch(world, order);
  CHECK(launch(world, order) == ids);

  order.fingerprint = "b";
  CHECK(failure_of([&] { launch(world, order); }) == ApiFailureKind::token_mismatch);
}

TEST_CASE("a token whose instances are gone says so, or answers with them where a cloud does") {
  SimulatedWorld world = world_with(-1, 1000);
  LaunchOrder order = order_of(1, 1, "t");
  const auto ids = launch(world, order);
  world.terminate(world.instances.at(ids.front()));
  pass(world, 5s);

  CHECK(failure_of([&] { launch(world, order); }) == ApiFailureKind::token_terminated);
  order.token_outlives = true;
  CHECK(launch(world, order) == ids);
}

TEST_CASE("a token that failed for want of stock asks anew") {
  SimulatedWorld world = world_with(0, 1000);
  const LaunchOrder order = order_of(1, 1, "t");
  CHECK(failure_of([&] { launch(world, order); }) == ApiFailureKind::no_stock);
  world.catalogues["acme"].offers.begin()->second.stock = 1;
  CHECK(launch(world, order).size() == 1);
}

TEST_CASE("a new instance is unknown to reads for a moment") {
  SimulatedWorld world = world_with(-1, 1000);
  world.settings.listing_delay = 2s;
  const std::string id = launch(world, order_of(1, 1)).front();
  CHECK(world.find_instance(kScope, id) == nullptr);
  pass(world, 2s);
  CHECK(world.find_instance(kScope, id) != nullptr);
}

TEST_CASE("a new instance can be known by its id before lists have it") {
  SimulatedWorld world = world_with(-1, 1000);
  world.settings.listing_delay = 2s;
  world.settings.known_delay = 0ms;
  const std::string id = launch(world, order_of(1, 1)).front();
  CHECK(world.find_instance(kScope, id) != nullptr);
  CHECK(world.instances_of(kScope).empty());
  pass(world, 2s);
  CHECK(world.instances_of(kScope).size() == 1);
}

TEST_CASE("cost is by the time that an instance is not stopped") {
  SimulatedWorld world = world_with(-1, 1000);
  Instance& made = world.instances.at(launch(world, order_of(1, 1)).front());
  pass(world, 1000s);
  world.stop(made);
  pass(world, 5000s);
  CHECK(world.cost(made) == doctest::Approx(1.0).epsilon(0.01));
}

TEST_CASE("a spot instance is taken away when its notice has run out, and a low limit gets none") {
  SimulatedWorld world = world_with(-1, 1000);
  LaunchOrder order = order_of(1, 1);
  order.like.market = Market::spot;
  order.highest_price = 0.5;
  CHECK(failure_of([&] { launch(world, order); }) == ApiFailureKind::price_too_low);

  order.highest_price = 1.5;
  Instance& made = world.instances.at(launch(world, order).front());
  pass(world, 10s);
  world.reclaim(made, 120s);
  pass(world, 119s);
  CHECK(made.state == State::running);
  pass(world, 1s);
  CHECK(made.state == State::shutting_down);
}

TEST_CASE("an instance whose user data shuts it down ends as its shutdown behaviour says") {
  SimulatedWorld world = world_with(-1, 1000);
  LaunchOrder order = order_of(1, 1);
  order.like.user_data = "#cloud-config\nruncmd: [[shutdown, -P, +30]]\n";
  Instance& stops = world.instances.at(launch(world, order).front());
  order.like.terminate_on_shutdown = true;
  Instance& ends = world.instances.at(launch(world, order).front());
  pass(world, 10s);

  pass(world, 29min);
  CHECK(stops.state == State::running);
  pass(world, 2min);
  CHECK(stops.state == State::stopping);
  CHECK(ends.state == State::shutting_down);
}

TEST_CASE("a boot that fails costs until then, and then no more") {
  SimulatedWorld world = world_with(-1, 1000);
  world.boot_failure = {1, "kernel panic"};
  Instance& made = world.instances.at(launch(world, order_of(1, 1)).front());
  pass(world, 10s);
  CHECK(made.state == State::failed);
  CHECK(made.reason == "kernel panic");
  CHECK(made.runs.back().to.has_value());
}

TEST_CASE("what is used cannot go, and what is part of something goes with it") {
  SimulatedWorld world = world_with(-1, 1000);
  Resource& vpc = world.add(kScope, "vpc", "v");
  Resource& group = world.add(kScope, "group", "g");
  group.uses = {"v"};
  group.part_of = "v";
  Resource& subnet = world.add(kScope, "subnet", "s");
  subnet.uses = {"v"};

  CHECK(failure_of([&] { world.remove(vpc); }) == ApiFailureKind::in_use);
  world.remove(subnet);
  world.remove(vpc);
  CHECK(group.deleted.has_value());
}

TEST_CASE("a subnet hands out each address once, takes it back, and can be used up") {
  SimulatedWorld world = world_with(-1, 1000);
  Resource& subnet = world.add(kScope, "subnet", "s");
  subnet.data = {{"cidr", "10.0.0.0/28"}};
  LaunchOrder order = order_of(11, 11);
  order.like.subnet = "s";
  const auto ids = launch(world, order);
  CHECK(world.instances.at(ids.front()).private_address == "10.0.0.4");
  CHECK(world.free_addresses(subnet) == 0);
  CHECK(failure_of([&] { launch(world, order); }) == ApiFailureKind::addresses_used_up);

  world.terminate(world.instances.at(ids.front()));
  pass(world, 5s);
  CHECK(world.take_address(subnet) == "10.0.0.4");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cloudsim
