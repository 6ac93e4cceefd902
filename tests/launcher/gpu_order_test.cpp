#include "launcher/gpu_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include "base/join.hpp"
#include "support/topologies.hpp"

namespace fastgpu::launcher {
namespace {

using agent::GpuLink;
using agent::MachineTopology;
using test::hybrid_cube_mesh;
using Gpus = std::vector<int>;

/// Returns a machine with `count` GPUs, the first half beside NUMA node 0.
MachineTopology linked_machine(int count, std::vector<GpuLink> links) {
  MachineTopology topology = test::machine({.sockets = 2, .numas = 1, .cores = 8, .threads = 1});
  for (int i = 0; i < count; ++i)
    topology.gpus.push_back({.name = "gpu" + std::to_string(i), .numa = 2 * i / count});
  topology.gpu_links = std::move(links);
  return topology;
}

Gpus first_gpus(std::size_t count) {
  Gpus gpus(count);
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

Gpus ordered(const MachineTopology& topology, std::size_t count) {
  return order_gpus(topology, first_gpus(topology.gpus.size()), count);
}

int links_between(const MachineTopology& topology, int a, int b) {
  for (const GpuLink& link : topology.gpu_links)
    if (link.first == std::min(a, b) && link.second == std::max(a, b)) return link.count;
  return 0;
}

/// Returns the figures by which rings are compared; the larger ones are better.
std::tuple<int, int, int> merits_of(const MachineTopology& topology, const Gpus& ring) {
  int linked = 0, links = 0, changes = 0;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const int here = ring[i], next = ring[(i + 1) % ring.size()];
    const int count = links_between(topology, here, next);
    linked += count > 0 ? 1 : 0;
    links += count;
    changes += topology.gpus[std::size_t(here)].numa != topology.gpus[std::size_t(next)].numa;
  }
  return {linked, links, -changes};
}

/// Returns the first of the best orders, found by trying all of them.
Gpus best_of_all(const MachineTopology& topology, std::size_t count) {
  Gpus all = first_gpus(topology.gpus.size()), best;
  do {
    const Gpus ring(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    if (best.empty() || merits_of(topology, ring) > merits_of(topology, best)) best = ring;
    std::reverse(all.begin() + static_cast<std::ptrdiff_t>(count), all.end());
  } while (std::next_permutation(all.begin(), all.end()));
  return best;
}

std::vector<GpuLink> random_links(int gpus, std::mt19937& random) {
  std::vector<GpuLink> links;
  for (int i = 0; i < gpus; ++i)
    for (int k = i + 1; k < gpus; ++k)
      if (const int count = static_cast<int>(random() % 4); count > 0 && random() % 2 == 0)
        links.push_back({.first = i, .second = k, .count = count});
  return links;
}

TEST_SUITE_BEGIN("launcher/gpu_order");

TEST_CASE("the ring of a whole DGX-1 has two links between all neighbours") {
  const auto machine = linked_machine(8, hybrid_cube_mesh());
  CHECK(ordered(machine, 8) == Gpus{0, 3, 2, 1, 5, 6, 7, 4});
  CHECK(merits_of(machine, ordered(machine, 8)) == std::tuple(8, 16, -2));
}

TEST_CASE("a part of a DGX-1 is a ring of GPUs that are all linked") {
  const auto machine = linked_machine(8, hybrid_cube_mesh());
  CHECK(ordered(machine, 1) == Gpus{0});
  CHECK(ordered(machine, 2) == Gpus{0, 3});
  CHECK(ordered(machine, 3) == Gpus{0, 3, 2});
  CHECK(ordered(machine, 4) == Gpus{0, 3, 2, 1});
  for (std::size_t count = 3; count <= 8; ++count)
    CHECK(std::get<0>(merits_of(machine, ordered(machine, count))) == static_cast<int>(count));
}

TEST_CASE("GPUs that bridges join in pairs are neighbours, also across sockets") {
  CHECK(ordered(linked_machine(4, {{0, 1, 12}, {2, 3, 12}}), 4) == Gpus{0, 1, 2, 3});
  CHECK(ordered(linked_machine(4, {{0, 2, 12}, {1, 3, 12}}), 4) == Gpus{0, 2, 3, 1});
  CHECK(ordered(linked_machine(4, {{0, 2, 12}, {1, 3, 12}}), 2) == Gpus{0, 2});
  CHECK(ordered(linked_machine(4, {{2, 3, 4}}), 2) == Gpus{2, 3});
  CHECK(ordered(linked_machine(4, {{2, 3, 4}}), 1) == Gpus{0});
}

TEST_CASE("GPUs that are all linked alike, or not at all, keep the order of the bus") {
  std::vector<GpuLink> by_switch;
  for (int i = 0; i < 8; ++i)
    for (int k = i + 1; k < 8; ++k)
      by_switch.push_back({.first = i, .second = k, .count = 12});
  for (const auto& links : {by_switch, std::vector<GpuLink>()}) {
    auto machine = linked_machine(8, links);
    for (std::size_t i = 0; i < 8; ++i)  // Another order would change the NUMA node less often.
      machine.gpus[i].numa = static_cast<int>(i % 2);
    for (std::size_t count = 1; count <= 8; ++count)
      CHECK(ordered(machine, count) == first_gpus(count));
  }
}

TEST_CASE("of equal rings the one that changes the NUMA node less often is taken") {
  auto machine = linked_machine(4, {{0, 2, 2}, {1, 3, 2}});
  CHECK(ordered(machine, 2) == Gpus{0, 2});
  machine.gpus[3].numa = machine.gpus[1].numa;
  CHECK(ordered(machine, 2) == Gpus{1, 3});
}

TEST_CASE("only GPUs that are offered are taken") {
  const auto machine = linked_machine(8, hybrid_cube_mesh());
  CHECK(order_gpus(machine, Gpus{4, 5, 6, 7}, 2) == Gpus{4, 7});
  CHECK(order_gpus(machine, Gpus{1, 3, 5}, 2) == Gpus{1, 5});
  CHECK(order_gpus(machine, Gpus{1, 3}, 8) == Gpus{1, 3});
  CHECK(order_gpus(machine, Gpus{}, 2).empty());
}

TEST_CASE(
    "no other order is better, and no neighbours have fewer links than the last and the first") {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const int gpus = 3 + round % 4;
    const auto machine = linked_machine(gpus, random_links(gpus, random));
    for (std::size_t count = 2; count <= std::size_t(gpus); ++count) {
      CAPTURE(round);
      CAPTURE(count);
      const Gpus found = ordered(machine, count), best = best_of_all(machine, count);
      CHECK(merits_of(machine, found) == merits_of(machine, best));
      CHECK(std::set<int>(found.begin(), found.end()) == std::set<int>(best.begin(), best.end()));
      for (std::size_t i = 0; i + 1 < count; ++i)
        CHECK(links_between(machine, found[i], found[i + 1]) >=
              links_between(machine, found.back(), found.front()));
    }
  }
}

TEST_CASE("sixteen GPUs in pairs are ordered, and more of them are not") {
  std::vector<GpuLink> pairs;
  for (int i = 0; i < 8; ++i)
    pairs.push_back({.first = i, .second = i + 8, .count = 4});
  const auto machine = linked_machine(16, pairs);
  CHECK(std::get<0>(merits_of(machine, ordered(machine, 16))) == 8);
  CHECK(ordered(machine, 4) == Gpus{0, 8, 9, 1});  // Twice from one NUMA node to the other.
  CHECK(ordered(linked_machine(17, pairs), 4) == first_gpus(4));
}

TEST_CASE("the GPUs of a job have the best ring, and of these the least links with the rest") {
  const auto mesh = linked_machine(8, hybrid_cube_mesh());
  CHECK(choose_gpus(mesh, first_gpus(8), 2) == Gpus{0, 3});
  CHECK(choose_gpus(mesh, first_gpus(8), 4) == Gpus{0, 1, 2, 3});
  CHECK(choose_gpus(mesh, Gpus{0, 4, 5, 6, 7}, 4) == Gpus{4, 5, 6, 7});
  CHECK(choose_gpus(mesh, Gpus{1, 3, 5}, 2) == Gpus{1, 5});
  CHECK(choose_gpus(mesh, Gpus{1, 3, 5}, 9) == Gpus{1, 3, 5});
  CHECK(choose_gpus(mesh, Gpus{}, 2).empty());
  const auto pairs = linked_machine(4, {{0, 2, 12}, {1, 3, 12}});
  CHECK(choose_gpus(pairs, Gpus{0, 2, 3}, 1) == Gpus{3});
  CHECK(choose_gpus(pairs, Gpus{1, 2, 3}, 1) == Gpus{2});
  CHECK(choose_gpus(pairs, Gpus{0, 1, 3}, 2) == Gpus{1, 3});
  CHECK(choose_gpus(linked_machine(5, {{0, 2, 12}, {1, 3, 12}}), first_gpus(5), 1) == Gpus{4});
}

TEST_CASE("without links GPUs of one NUMA node are chosen, that with the fewest free ones first") {
  const auto machine = linked_machine(8, {});
  CHECK(choose_gpus(machine, first_gpus(8), 2) == Gpus{0, 1});
  CHECK(choose_gpus(machine, Gpus{0, 1, 2, 4, 5}, 2) == Gpus{4, 5});
  CHECK(choose_gpus(machine, Gpus{0, 4, 5, 6}, 1) == Gpus{0});
  CHECK(choose_gpus(machine, Gpus{0, 1, 4, 5, 6}, 3) == Gpus{4, 5, 6});
  CHECK(choose_gpus(linked_machine(17, {}), first_gpus(17), 3) == Gpus{0, 1, 2});
}

TEST_CASE("no other GPUs have a better ring") {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    const int gpus = 3 + round % 4;
    const auto machine = linked_machine(gpus, random_links(gpus, random));
    for (std::size_t count = 2; count <= std::size_t(gpus); ++count) {
      CAPTURE(round);
      CAPTURE(count);
      const Gpus chosen = choose_gpus(machine, first_gpus(machine.gpus.size()), count);
      const Gpus ring = order_gpus(machine, chosen, count);
      const auto best = merits_of(machine, best_of_all(machine, count));
      CHECK(std::get<0>(merits_of(machine, ring)) == std::get<0>(best));
      CHECK(std::get<1>(merits_of(machine, ring)) == std::get<1>(best));
    }
  }
}

TEST_CASE("linked pairs are named by their number of links, and all of them in two words") {
  const auto pairs_of = [](int gpus, std::vector<GpuLink> links) {
    std::string text;
    for (const LinkedPairs& group : linked_pairs(linked_machine(gpus, std::move(links))))
      text += std::to_string(group.links) + ": " + joined(group.pairs) + "\n";
    return text;
  };
  CHECK(pairs_of(8, hybrid_cube_mesh()) ==
        "2: 0-3, 0-4, 1-2, 1-5, 2-3, 4-7, 5-6, 6-7\n"
        "1: 0-1, 0-2, 1-3, 2-6, 3-7, 4-5, 4-6, 5-7\n");
  CHECK(pairs_of(3, {{0, 1, 6}, {0, 2, 6}, {1, 2, 6}}) == "6: all GPUs\n");
  CHECK(pairs_of(2, {{0, 1, 4}}) == "4: 0-1\n");
  CHECK(pairs_of(2, {}).empty());
  CHECK(linked_pairs({}).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
