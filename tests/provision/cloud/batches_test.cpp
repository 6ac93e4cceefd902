#include "provision/cloud/batches.hpp"

#include <doctest/doctest.h>

namespace fastgpu::provision::cloud {
namespace {

const Place kHere{{"r", "a"}, "", {}};

std::vector<NodeRequest> requests(const std::vector<int>& indexes) {
  std::vector<NodeRequest> all;
  for (const int index : indexes)
    all.push_back({.index = index,
                   .name = {"t-" + std::to_string(index)},
                   .token = "token" + std::to_string(index),
                   .host_private_key = {},
                   .host_public_key = {},
                   .authorized_key = {}});
  return all;
}

std::vector<std::vector<int>> indexes(const std::vector<std::vector<NodeRequest>>& batches) {
  std::vector<std::vector<int>> all;
  for (const auto& batch : batches) {
    all.emplace_back();
    for (const NodeRequest& request : batch)
      all.back().push_back(request.index);
  }
  return all;
}

Machine machine(const std::string& id, int index, const std::string& launched,
                const std::string& zone = "a") {
  return {.id = id,
          .index = index,
          .state = MachineState::running,
          .site = {"r", zone},
          .launched = launched};
}

TEST_CASE("nodes next to each other are asked for together, up to the cloud's limit") {
  CHECK(indexes(batches(requests({3, 0, 1, 2}), 100)) ==
        std::vector<std::vector<int>>{{0, 1, 2, 3}});
  CHECK(indexes(batches(requests({0, 1, 2, 3, 4}), 2)) ==
        std::vector<std::vector<int>>{{0, 1}, {2, 3}, {4}});
  CHECK(indexes(batches(requests({0, 2, 3}), 100)) == std::vector<std::vector<int>>{{0}, {2, 3}});
  CHECK(batches({}, 100).empty());
}

TEST_CASE("a node with a public address is not asked for together with those that have none") {
  const auto wanted = requests({0, 1, 2});
  using Batches = std::vector<std::vector<int>>;
  CHECK(indexes(batches(wanted, 100, PublicAddress::head)) == Batches{{0}, {1, 2}});
  CHECK(indexes(batches(wanted, 100, PublicAddress::none)) == Batches{{0, 1, 2}});
}

TEST_CASE("a machine that is to have no public address is reached inside, once it is there") {
  Machine inside = machine("m", 1, "1");
  inside.private_address = MachineAddress(IpAddress::parse("10.0.0.2"));
  CHECK(instance_of(inside, PublicAddress::all).address.empty());
  CHECK(instance_of(inside, PublicAddress::head).address == "10.0.0.2");
  inside.state = MachineState::pending;
  CHECK(instance_of(inside, PublicAddress::head).address.empty());
  inside.state = MachineState::running;
  inside.index = kHead;
  CHECK(instance_of(inside, PublicAddress::head).address.empty());
  CHECK(instance_of(inside, PublicAddress::none).address == "10.0.0.2");
  inside.address =
      MachineAddress(IpAddress::parse("198.51.100.1"));  // Given by somebody in the console.
  CHECK(instance_of(inside, PublicAddress::none).address == "198.51.100.1");
}

TEST_CASE(
    "a batch has the same token whenever it is asked for at the same place, and no other does") {
  const auto batch = requests({0, 1});
  const Place here{{"r", "a"}, "type", {}};
  const std::string token = batch_token(batch, here);
  CHECK(token.size() == 32);
  CHECK(token == batch_token(requests({0, 1}), here));
  CHECK(token != batch_token(requests({0, 2}), here));
  CHECK(token != batch_token(batch, {{"r", "b"}, "type", {}}));
  CHECK(token != batch_token(batch, {{"r", "a"}, "other", {}}));
}

TEST_CASE("of two machines for one node the older one counts, and the other is a stray") {
  const std::vector<Machine> machines = {machine("late", 0, "2026-01-01T00:00:02Z"),
                                         machine("early", 0, "2026-01-01T00:00:01Z")};
  REQUIRE(machine_of(machines, 0) != nullptr);
  CHECK(machine_of(machines, 0)->id == "early");
  const auto instances = instances_of(machines, kHere, "us");
  REQUIRE(instances.size() == 2);
  CHECK(instances[0].token == "stray late");
  CHECK(instances[1].token.empty());
}

TEST_CASE("a machine in another zone than the cluster's is a stray") {
  const auto instances = instances_of(
      std::vector{machine("here", 0, "2", "a"), machine("there", 0, "1", "b")}, kHere, "us");
  CHECK(instances[0].token.empty());
  CHECK(instances[1].token == "stray there");
}

TEST_CASE("a machine that ends is told of as gone until another one has its index") {
  Machine ending = machine("ending", 0, "1");
  ending.state = MachineState::ending;
  ending.marks.owner = "others";
  const auto alone = instances_of(std::vector{ending}, kHere, "us");
  REQUIRE(alone.size() == 1);
  CHECK(alone[0].state == InstanceState::gone);
  CHECK(alone[0].token.empty());
  CHECK(alone[0].owner.empty());
  const auto replaced = instances_of(std::vector{ending, machine("new", 0, "2")}, kHere, "us");
  REQUIRE(replaced.size() == 1);
  CHECK(replaced[0].id == "new");
  ending.site.zone = "elsewhere";
  CHECK(instances_of(std::vector{ending}, kHere, "us").empty());
}

TEST_CASE("machines that are ending are no nodes, and failed ones are told of as gone") {
  Machine ending = machine("ending", 0, "1");
  ending.state = MachineState::ending;
  Machine failed = machine("failed", 1, "1");
  failed.state = MachineState::failed;
  CHECK(machine_of(std::vector{ending, failed}, 0) == nullptr);
  CHECK(machine_of(std::vector{ending, failed}, 1) == nullptr);
  const auto instances = instances_of(std::vector{ending, failed}, kHere, "us");
  REQUIRE(instances.size() == 2);
  for (const Instance& instance : instances)
    CHECK(instance.state == InstanceState::gone);
}

}  // namespace
}  // namespace fastgpu::provision::cloud
