#include "cli/workflows/node_selection.hpp"

#include <doctest/doctest.h>

#include "base/join.hpp"
#include "cli/workflows/lookup.hpp"
#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;
using fastgpu::test::mentions;

/// Five nodes, n01 to n05, of which the last is stopped.
std::vector<state::Node> five() {
  std::vector<state::Node> nodes;
  for (int i = 0; i < 5; ++i)
    nodes.push_back({.index = i,
                     .name = {"n0" + std::to_string(i + 1)},
                     .state = i == 4 ? state::NodeState::stopped : state::NodeState::running});
  return nodes;
}

std::optional<std::string> groups(std::string_view name) {
  if (name == "io") return "n[01-02],elsewhere-7";
  if (name == "empty") return "elsewhere-7";
  return std::nullopt;
}

std::string selected(std::string_view node_set) {
  std::string names;
  for (const state::Node& node : select_nodes({.name = {"demo"}}, five(), node_set, groups))
    append_item(names, node.name.value, " ");
  return names;
}

TEST_SUITE_BEGIN("cli node sets");

TEST_CASE("nodes are named by name, index and ranges, in the cluster's order") {
  CHECK(selected("3,n[01-02]") == "n01 n02 n04");
  CHECK(selected("1-2") == "n02 n03");
}

TEST_CASE("what stands behind an exclamation mark is left out") {
  CHECK(selected("!2") == "n01 n02 n04 n05");
  CHECK(selected("n[01-04]!n02!0") == "n03 n04");
  CHECK(selected("!@io,4") == "n03 n04");
}

TEST_CASE("nodes are left out of a target, whatever it says already") {
  const auto left = [](const std::string& target, const std::string& left_out) {
    return selected(parse_target(without(target, left_out)).node_set);
  };
  CHECK(without("demo", "") == "demo");
  CHECK(parse_target(without("demo", "0")).cluster == "demo");
  CHECK(left("demo", "2") == "n01 n02 n04 n05");
  CHECK(left("demo", "n[01-02],@stopped") == "n03 n04");
  CHECK(left("demo/0-3", "n02,3") == "n01 n03");
  CHECK(left("demo/!0", "@stopped") == "n02 n03 n04");
  CHECK(left("demo/@workers!2", "1!4") == "n04");
  CHECK(mentions(failure_of([&] { left("demo/0", "n01"); }), "excludes every node"));
  CHECK(mentions(failure_of([&] { left("demo", "n06"); }), "cluster demo has no node 'n06'"));
}

TEST_CASE("groups are the cluster's own, or the user's") {
  CHECK(selected("@head") == "n01");
  CHECK(selected("@workers") == "n02 n03 n04 n05");
  CHECK(selected("@workers!@stopped") == "n02 n03 n04");
  CHECK(selected("@io,@stopped") == "n01 n02 n05");
}

TEST_CASE("nobody is meant by mistake") {
  CHECK(mentions(failure_of([] { selected("n06"); }), "cluster demo has no node 'n06'"));
  CHECK(mentions(failure_of([] { selected("!n06"); }), "cluster demo has no node 'n06'"));
  CHECK(mentions(failure_of([] { selected("@worker"); }),
                 "there is no node group '@worker', did you mean @workers?"));
  CHECK(mentions(failure_of([] { selected("0!0"); }), "node set '0!0' excludes every node"));
  CHECK(mentions(failure_of([] { selected("@empty"); }), "excludes every node of cluster demo"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
