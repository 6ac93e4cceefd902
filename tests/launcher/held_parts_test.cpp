#include "launcher/held_parts.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/topologies.hpp"

namespace fastgpu::launcher {
namespace {

using test::gpu_machine;
using test::machine;
using Lists = std::vector<std::string>;
using Gpus = std::vector<int>;
using Ids = std::vector<std::string>;

/// Returns the CPUs of the places.
Lists cpus_of_places(const std::vector<RankPart>& places) {
  Lists lists;
  for (const RankPart& place : places)
    lists.push_back(agent::cpu_list(place.cpus));
  return lists;
}

/// One node whose jobs begin one after another.
struct OneNode {
  std::vector<NodeTopology> nodes;
  RankUnit unit;
  std::vector<HeldParts> held{};

  explicit OneNode(agent::MachineTopology topology, RankUnit wanted = RankUnit::gpu)
      : nodes({{{"a"}, std::move(topology)}}), unit(wanted) {}

  /// Begins a job, or returns the jobs that it waits for in `waits`.
  NodeRanks begin(const std::string& job, int ranks, Ids* waits = nullptr,
                  Sharing sharing = Sharing::exclusive) {
    std::vector<NodeRanks> placement = {{.node = {"a"}, .count = ranks}};
    const Ids holders = bind_ranks(placement, nodes, unit, held, sharing);
    if (waits != nullptr) *waits = holders;
    if (holders.empty() && sharing == Sharing::exclusive)
      held.push_back(parts_held_by(job, placement[0]));
    return placement[0];
  }

  void end(const std::string& job) {
    std::erase_if(held, [&](const HeldParts& parts) { return parts.job == job; });
  }
};

TEST_SUITE_BEGIN("launcher/held_parts");

TEST_CASE("ranks beyond the places have the same ones again") {
  const auto topology = machine({.sockets = 2, .numas = 1, .cores = 1, .threads = 1});
  const std::vector<NodeTopology> nodes = {{{"a"}, topology}};
  std::vector<NodeRanks> placement = {{.node = {"a"}, .first = 0, .count = 3}};
  bind_ranks(placement, nodes, RankUnit::socket);
  CHECK(placement[0].cpus == Lists{"0", "1", "0"});
  bind_ranks(placement, nodes, RankUnit::none);
  CHECK(placement[0].cpus.size() == 3);
}

TEST_CASE("ranks get the GPUs that are linked best, each with the cores beside its own") {
  auto topology = gpu_machine();
  topology.gpu_links = test::hybrid_cube_mesh();
  const std::vector<NodeTopology> nodes = {{{"a"}, topology}};
  std::vector<NodeRanks> placement = {{.node = {"a"}, .first = 0, .count = 8}};
  const Lists cpus = cpus_of_places(rank_places(topology, RankUnit::gpu));
  bind_ranks(placement, nodes, RankUnit::gpu);
  REQUIRE(placement[0].gpus == std::vector<int>{0, 3, 2, 1, 5, 6, 7, 4});
  for (std::size_t i = 0; i < 8; ++i)
    CHECK(placement[0].cpus[i] == cpus[std::size_t(placement[0].gpus[i])]);
  placement[0].count = 2;
  bind_ranks(placement, nodes, RankUnit::gpu);
  CHECK(placement[0].gpus == std::vector<int>{0, 3});
  CHECK(placement[0].cpus == Lists{cpus[0], cpus[3]});
}

TEST_CASE("ranks beyond the GPUs share them in the same order, and other units have no GPUs") {
  auto topology = gpu_machine();
  topology.gpu_links = test::hybrid_cube_mesh();
  const std::vector<NodeTopology> nodes = {{{"a"}, topology}};
  std::vector<NodeRanks> placement = {{.node = {"a"}, .first = 0, .count = 10}};
  bind_ranks(placement, nodes, RankUnit::gpu);
  CHECK(placement[0].gpus == std::vector<int>{0, 3, 2, 1, 5, 6, 7, 4, 0, 3});
  bind_ranks(placement, nodes, RankUnit::core);
  CHECK(placement[0].gpus.empty());
}

TEST_CASE("each of the nodes that share a kernel orders the GPUs of its own part") {
  auto topology = gpu_machine();
  topology.gpu_links = test::hybrid_cube_mesh();
  topology.boot_id = "one";
  const std::vector<NodeTopology> nodes = {{{"a"}, topology}, {{"b"}, topology}};
  std::vector<NodeRanks> placement = {{.node = {"a"}, .first = 0, .count = 2},
                                      {.node = {"b"}, .first = 2, .count = 2}};
  bind_ranks(placement, nodes, RankUnit::gpu);
  CHECK(placement[0].gpus == std::vector<int>{0, 3});
  CHECK(placement[1].gpus == std::vector<int>{4, 7});
}

TEST_CASE("jobs at one time have different GPUs, and one waits for those that hold what it needs") {
  OneNode node(gpu_machine());
  CHECK(node.begin("a", 4).gpus == Gpus{0, 1, 2, 3});
  CHECK(node.begin("b", 2).gpus == Gpus{4, 5});
  Ids waits;
  const NodeRanks none = node.begin("c", 4, &waits);
  CHECK(waits == Ids{"a", "b"});
  CHECK(none.gpus.empty());
  CHECK(none.cpus.empty());
  node.end("a");
  CHECK(node.begin("c", 4).gpus == Gpus{0, 1, 2, 3});
  CHECK(node.begin("d", 2).gpus == Gpus{6, 7});
}

TEST_CASE("small jobs leave GPUs together that NVLink joins, and that are on one NUMA node") {
  auto pairs = machine({.sockets = 1, .numas = 1, .cores = 4, .threads = 1});
  pairs.gpus = {{"a", 0}, {"b", 0}, {"c", 0}, {"d", 0}};
  pairs.gpu_links = {{0, 2, 12}, {1, 3, 12}};
  OneNode node(pairs);
  CHECK(node.begin("a", 1).gpus == Gpus{0});
  CHECK(node.begin("b", 1).gpus == Gpus{2});
  CHECK(node.begin("c", 2).gpus == Gpus{1, 3});
  node.end("b");
  node.end("c");
  CHECK(node.begin("d", 2).gpus == Gpus{1, 3});
  OneNode alike(gpu_machine());
  CHECK(alike.begin("a", 1).gpus == Gpus{0});
  CHECK(alike.begin("b", 4).gpus == Gpus{4, 5, 6, 7});
  CHECK(alike.begin("c", 2).gpus == Gpus{1, 2});
}

TEST_CASE(
    "a job with more ranks than GPUs waits for all of them, and shares them among its ranks") {
  OneNode node(gpu_machine());
  Ids waits;
  node.begin("a", 1);
  node.begin("crowded", 9, &waits);
  CHECK(waits == Ids{"a"});
  node.end("a");
  CHECK(node.begin("crowded", 9).gpus == Gpus{0, 1, 2, 3, 4, 5, 6, 7, 0});
}

TEST_CASE("a job that shares takes free GPUs first, waits for none, and holds none") {
  OneNode node(gpu_machine());
  node.begin("a", 6);
  Ids waits;
  CHECK(node.begin("s", 3, &waits, Sharing::shared).gpus == Gpus{4, 6, 7});
  CHECK(waits.empty());
  CHECK(node.begin("b", 2).gpus == Gpus{6, 7});
}

TEST_CASE("the workers of a torchrun have a GPU each, and share the cores beside them") {
  const std::vector<NodeTopology> nodes = {{{"a"}, gpu_machine()}};
  std::vector<NodeRanks> placement = {{.node = {"a"}, .count = 1, .workers = 3}};
  const std::vector<HeldParts> held = {{.job = "j", .node = {"a"}, .cpus = {8, 24}, .gpus = {4}}};
  CHECK(bind_ranks(placement, nodes, RankUnit::gpu, held).empty());
  CHECK(placement[0].gpus == Gpus{5, 6, 7});
  CHECK(placement[0].cpus == Lists{"10-15,26-31"});
  CHECK(parts_held_by("k", placement[0]).gpus == Gpus{5, 6, 7});
  const auto drawn = drawn_ranks(placement);
  REQUIRE(drawn.size() == 1);
  CHECK(drawn[0].name == "torchrun with 3 workers");
  CHECK(drawn[0].gpus == Gpus{5, 6, 7});
}

TEST_CASE("jobs at one time have different cores, beside those of jobs with GPUs") {
  auto topology = gpu_machine();
  topology.gpus.resize(4);  // All on socket 0.
  OneNode node(topology, RankUnit::core);
  CHECK(node.begin("a", 2).cpus == Lists{"0,16", "1,17"});
  CHECK(node.begin("b", 1).cpus == Lists{"2,18"});
  node.unit = RankUnit::gpu;
  const NodeRanks beside = node.begin("c", 2);  // GPU 0 would have the cores of job a.
  CHECK(beside.gpus == Gpus{0, 1});
  CHECK(beside.cpus == Lists{"0-1,16-17", "3,19"});
  node.unit = RankUnit::core;
  CHECK(node.begin("d", 2).cpus == Lists{"4,20", "5,21"});
  node.unit = RankUnit::socket;
  CHECK(node.begin("e", 1).cpus == Lists{"8-15,24-31"});
  Ids waits;
  node.begin("f", 1, &waits);
  CHECK(waits == Ids{"a", "b", "c", "d", "e"});
}

TEST_CASE("nodes of this machine give cores that no other of them has in use, as far as they can") {
  auto topology = machine({.sockets = 1, .numas = 1, .cores = 2, .threads = 1});
  topology.boot_id = std::string(kThisMachine);
  const std::vector<NodeTopology> second = {{{"b"}, topology}};
  std::vector<NodeRanks> placement = {{.node = {"b"}, .count = 1}};
  const std::vector<HeldParts> first = {{.job = "j", .node = {"a"}, .cpus = {0}}};
  CHECK(bind_ranks(placement, second, RankUnit::core, first).empty());
  CHECK(placement[0].cpus == Lists{"1"});
  const std::vector<HeldParts> both = {{.job = "j", .node = {"a"}, .cpus = {0, 1}}};
  CHECK(bind_ranks(placement, second, RankUnit::core, both).empty());
  CHECK(placement[0].cpus == Lists{"0"});
  // Elsewhere nodes have machines of their own.
  std::vector<NodeTopology> apart = second;
  apart[0].topology.boot_id = "other";
  CHECK(bind_ranks(placement, apart, RankUnit::core, first).empty());
  CHECK(placement[0].cpus == Lists{"0"});
}

TEST_CASE("a node whose own cores are in use by its neighbours takes free ones of theirs") {
  auto topology = machine({.sockets = 1, .numas = 1, .cores = 4, .threads = 1});
  topology.boot_id = "one";
  const std::vector<NodeTopology> nodes = {{{"a"}, topology}, {{"b"}, topology}};
  std::vector<NodeRanks> placement = {{.node = {"a"}, .count = 2}};
  const std::vector<HeldParts> held = {{.job = "j", .node = {"b"}, .cpus = {0}}};
  CHECK(bind_ranks(placement, nodes, RankUnit::core, held).empty());
  CHECK(placement[0].cpus == Lists{"1", "2"});
}

TEST_CASE("a job needs the end of one, of some or of all of those that hold its GPUs") {
  const std::vector<NodeTopology> nodes = {{{"a"}, gpu_machine()}};
  const auto needed = [&](int ranks, const std::vector<HeldParts>& held) {
    std::vector<NodeRanks> placement = {{.node = {"a"}, .count = ranks}};
    const Ids holders = bind_ranks(placement, nodes, RankUnit::gpu, held);
    return part_ends_needed(placement, nodes, RankUnit::gpu, held, holders);
  };
  const std::vector<HeldParts> halves = {{.job = "x", .node = {"a"}, .gpus = {0, 1, 2, 3}},
                                         {.job = "y", .node = {"a"}, .gpus = {4, 5, 6, 7}}};
  CHECK(needed(4, halves) == EndsNeeded::one);
  CHECK(needed(8, halves) == EndsNeeded::all);
  const std::vector<HeldParts> uneven = {{.job = "x", .node = {"a"}, .gpus = {0, 1, 2, 3, 4, 5, 6}},
                                         {.job = "y", .node = {"a"}, .gpus = {7}}};
  CHECK(needed(4, uneven) == EndsNeeded::some);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
