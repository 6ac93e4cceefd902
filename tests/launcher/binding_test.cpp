#include "launcher/binding.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "support/failure.hpp"
#include "support/topologies.hpp"

namespace fastgpu::launcher {
namespace {

using test::failure_of;
using test::gpu_machine;
using test::machine;
using Lists = std::vector<std::string>;

Lists lists_of(const std::vector<RankPart>& places) {
  Lists lists;
  for (const RankPart& place : places)
    lists.push_back(agent::cpu_list(place.cpus));
  return lists;
}

TEST_SUITE_BEGIN("launcher/binding");

TEST_CASE("lists of CPUs are read as they are written") {
  CHECK(agent::cpu_list({0, 1, 2, 3, 8, 10, 11}) == "0-3,8,10-11");
  CHECK(agent::cpu_list({}).empty());
  CHECK(agent::parse_cpu_list("0-3,8,10-11") == std::vector<int>{0, 1, 2, 3, 8, 10, 11});
  CHECK(agent::parse_cpu_list("5,1-2,2") == std::vector<int>{1, 2, 5});
  for (const char* wrong : {"-1", "1-", "3-1", "a", "1,,2", "99999999", "0-99999999"})
    CHECK(failure_of([&] { agent::parse_cpu_list(wrong); }).kind() == ErrorKind::remote);
}

TEST_CASE("a topology survives its way over the network") {
  agent::MachineTopology sent = gpu_machine();
  sent.gpu_links = test::hybrid_cube_mesh();
  const agent::MachineTopology read = agent::parse_topology(to_text(sent));
  CHECK(read.cpus == sent.cpus);
  CHECK(read.gpus == sent.gpus);
  CHECK(read.adapters == sent.adapters);
  CHECK(read.gpu_links == sent.gpu_links);
  CHECK_FALSE(read.is_gpu_tool_silent);
  sent.is_gpu_tool_silent = true;
  CHECK(agent::parse_topology(to_text(sent)).is_gpu_tool_silent);
  CHECK_THROWS_AS(agent::parse_topology(""), Error);
}

TEST_CASE(
    "links that no two GPUs of a node can have are refused, and so is one that is there twice") {
  const agent::GpuLink good{.first = 0, .second = 7, .count = 1};
  const auto is_refused = [&](const agent::GpuLink& link) {
    agent::MachineTopology sent = gpu_machine();
    sent.gpu_links = {good, link};
    const std::string text = to_text(sent);
    return failure_of([&] { agent::parse_topology(text); }).kind() == ErrorKind::remote;
  };
  for (const agent::GpuLink& bad : std::vector<agent::GpuLink>{
           {-1, 0, 1}, {1, 1, 1}, {2, 1, 1}, {0, 8, 1}, {0, 1, 0}, {0, 1, 65}})
    CHECK(is_refused(bad));
  CHECK(is_refused(good));
}

TEST_CASE("a core has all of its threads, a socket all of its cores") {
  const auto topology = machine({.sockets = 2, .numas = 2, .cores = 2, .threads = 2});
  CHECK(lists_of(rank_places(topology, RankUnit::core)) ==
        Lists{"0,8", "1,9", "2,10", "3,11", "4,12", "5,13", "6,14", "7,15"});
  CHECK(lists_of(rank_places(topology, RankUnit::numa)) ==
        Lists{"0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15"});
  CHECK(lists_of(rank_places(topology, RankUnit::socket)) == Lists{"0-3,8-11", "4-7,12-15"});
  CHECK(rank_places(topology, RankUnit::gpu).empty());
  CHECK(rank_places(topology, RankUnit::none).empty());
}

TEST_CASE("CPUs that a node may not use are in no place") {
  auto topology = machine({.sockets = 2, .numas = 1, .cores = 4, .threads = 1});
  std::erase_if(topology.cpus, [](const agent::Cpu& cpu) { return cpu.number < 5; });
  CHECK(lists_of(rank_places(topology, RankUnit::socket)) == Lists{"5-7"});
}

TEST_CASE("each socket serves its nearest GPUs, and their CPUs are disjoint") {
  const auto places = rank_places(gpu_machine(), RankUnit::gpu);
  REQUIRE(places.size() == 8);
  std::set<int> used;
  for (std::size_t i = 0; i < places.size(); ++i) {
    CHECK(places[i].gpu == static_cast<int>(i));
    CHECK(places[i].cpus.size() == 4);  // Two cores with two threads each.
    for (const int cpu : places[i].cpus) {
      CHECK(used.insert(cpu).second);
      CHECK(cpu % 16 / 8 == static_cast<int>(i) / 4);
    }
  }
  CHECK(used.size() == 32);
}

TEST_CASE("GPUs in an order other than that of the sockets get the cores that are near to each") {
  auto topology = gpu_machine();
  for (std::size_t i = 0; i < 8; ++i)
    topology.gpus[i].numa = i < 4 ? 1 : 0;
  const auto places = rank_places(topology, RankUnit::gpu);
  CHECK(agent::cpu_list(places[0].cpus) == "8-9,24-25");
  CHECK(agent::cpu_list(places[4].cpus) == "0-1,16-17");
}

TEST_CASE("GPUs that are near no NUMA node share the cores that no other GPU is near to") {
  auto topology = gpu_machine();
  for (agent::NearDevice& gpu : topology.gpus)
    gpu.numa = -1;
  std::set<int> used;
  for (const RankPart& place : rank_places(topology, RankUnit::gpu))
    for (const int cpu : place.cpus)
      CHECK(used.insert(cpu).second);
  CHECK(used.size() == 32);
  for (std::size_t i = 0; i < 4; ++i)
    topology.gpus[i].numa = 0;
  const auto places = rank_places(topology, RankUnit::gpu);
  for (std::size_t i = 4; i < 8; ++i)
    for (const int cpu : places[i].cpus)
      CHECK(cpu % 16 >= 8);
}

TEST_CASE("more GPUs than cores share them") {
  auto topology = machine({.sockets = 1, .numas = 1, .cores = 2, .threads = 1});
  topology.gpus = {{"a", 0}, {"b", 0}, {"c", 0}};
  CHECK(lists_of(rank_places(topology, RankUnit::gpu)) == Lists{"0", "0", "1"});
}

TEST_CASE("nodes that share a kernel get different places, and others all of theirs") {
  const auto topology = machine({.sockets = 1, .numas = 1, .cores = 4, .threads = 1});
  std::vector<NodeTopology> nodes = {{{"a"}, topology}, {{"b"}, topology}, {{"c"}, topology}};
  nodes[0].topology.boot_id = nodes[1].topology.boot_id = "one";
  nodes[2].topology.boot_id = "other";
  const auto places = places_of_nodes(nodes, RankUnit::core);
  CHECK(lists_of(places[0]) == Lists{"0", "1"});
  CHECK(lists_of(places[1]) == Lists{"2", "3"});
  CHECK(lists_of(places[2]).size() == 4);
  const auto sockets = places_of_nodes(nodes, RankUnit::socket);
  CHECK(lists_of(sockets[0]) == Lists{"0-3"});
  CHECK(lists_of(sockets[1]) == Lists{"0-3"});
  for (NodeTopology& node : nodes)
    node.topology.boot_id.clear();
  CHECK(places_of_nodes(nodes, RankUnit::core)[1].size() == 4);
}

TEST_CASE("the drawing names linked GPUs, in lines of at most 80 columns") {
  NodeTopology node{{"demo-0"}, gpu_machine()};
  const std::vector<NodeRanks> placement = {
      {.node = {"demo-0"}, .count = 2, .cpus = {"0-1,16-17", "6-7,22-23"}, .gpus = {0, 3}}};
  const auto drawn = [&] {
    return draw_placement(placement, std::span(&node, 1), drawn_ranks(placement));
  };
  CHECK(drawn().find("NVLink") == std::string::npos);
  node.topology.gpu_links = test::hybrid_cube_mesh();
  const std::string text = drawn();
  CHECK(
      text.starts_with("demo-0\n"
                       "  NVLink (2 links): 0-3, 0-4, 1-2, 1-5, 2-3, 4-7, 5-6, 6-7\n"
                       "  NVLink (1 link): 0-1, 0-2, 1-3, 2-6, 3-7, 4-5, 4-6, 5-7\n"
                       "  socket 0\n"));
  CHECK(text.find("rank 1: CPUs 6-7,22-23, GPU 3\n") != std::string::npos);
  node.topology.gpu_links.clear();
  for (int i = 0; i < 7; ++i)
    for (int k = i + 1; k < 7; ++k)
      node.topology.gpu_links.push_back({.first = i, .second = k, .count = 4});
  CHECK(drawn().starts_with(
      "demo-0\n"
      "  NVLink (4 links): 0-1, 0-2, 0-3, 0-4, 0-5, 0-6, 1-2, 1-3, 1-4, 1-5, 1-6, 2-3,\n"
      "      2-4, 2-5, 2-6, 3-4, 3-5, 3-6, 4-5, 4-6, 5-6\n"
      "  socket 0\n"));
}

TEST_CASE("the drawing has nodes, sockets, GPUs, adapters, ranks, and what other jobs hold") {
  const std::vector<NodeTopology> nodes = {{{"demo-0"}, gpu_machine()}};
  const std::vector<NodeRanks> placement = {{.node = {"demo-0"},
                                             .first = 8,
                                             .count = 2,
                                             .cpus = {"0-1,16-17", "2-3,18-19"},
                                             .gpus = {0, 1}}};
  std::vector<DrawnPart> parts = drawn_ranks(placement);
  parts.push_back({"job a-1", {"demo-0"}, {8, 9, 24, 25}, {4}});
  parts.push_back({"job b-1", {"demo-0"}, {10, 12}, {5, 6}});
  parts.push_back({"job c-1", {"demo-1"}, {0}, {0}});
  CHECK(draw_placement(placement, nodes, parts) ==
        "demo-0\n"
        "  socket 0\n"
        "    NUMA node 0: CPUs 0-7,16-23, GPU 0 (gpu0), GPU 1 (gpu1), GPU 2 (gpu2),\n"
        "        GPU 3 (gpu3), NIC mlx5_0\n"
        "      rank 8: CPUs 0-1,16-17, GPU 0\n"
        "      rank 9: CPUs 2-3,18-19, GPU 1\n"
        "  socket 1\n"
        "    NUMA node 1: CPUs 8-15,24-31, GPU 4 (gpu4), GPU 5 (gpu5), GPU 6 (gpu6),\n"
        "        GPU 7 (gpu7), NIC mlx5_1\n"
        "      job a-1: CPUs 8-9,24-25, GPU 4\n"
        "      job b-1: CPUs 10,12, GPUs 5-6\n");
  CHECK(draw_placement(placement, nodes, {}).find("rank") == std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
