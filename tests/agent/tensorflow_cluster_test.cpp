#include "agent/jobs/tensorflow_cluster.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace fastgpu::agent {

TEST_SUITE_BEGIN("agent/tensorflow_cluster");

TEST_CASE("workers are named by node, each at a port of its own") {
  const TensorflowCluster cluster{.nodes = {{"10.0.0.1", 2}, {"fd00::2", 2}}, .port = 20'433};
  CHECK(tensorflow_config(cluster, {.rank = 3, .node = 1, .on_node = 1}) ==
        R"({"cluster":{"worker":["10.0.0.1:20433","10.0.0.1:20434","[fd00::2]:20433",)"
        R"("[fd00::2]:20434"]},"task":{"type":"worker","index":3}})");
}

TEST_CASE("nodes may have different numbers of workers") {
  const TensorflowCluster cluster{.nodes = {{"10.0.0.1", 2}, {"10.0.0.2", 1}}, .port = 20'433};
  const std::string workers =
      R"({"cluster":{"worker":["10.0.0.1:20433","10.0.0.1:20434","10.0.0.2:20433"]},)"
      R"("task":{"type":"worker","index":)";
  CHECK(tensorflow_config(cluster, {.rank = 1, .node = 0, .on_node = 1}) == workers + "1}}");
  CHECK(tensorflow_config(cluster, {.rank = 2, .node = 1, .on_node = 0}) == workers + "2}}");
}

TEST_CASE("no workers are named where they would be wrong") {
  const TensorflowWorker second{.rank = 1, .node = 0, .on_node = 1};
  TensorflowCluster cluster{.nodes = {{"10.0.0.1", 2}, {"10.0.0.2", 1}}, .port = 65'534};
  CHECK(tensorflow_config(cluster, second));
  cluster.port = 65'535;
  CHECK_FALSE(tensorflow_config(cluster, second));
  cluster.port = 20'433;
  CHECK_FALSE(tensorflow_config({.nodes = {{"10.0.0.1", 1}}, .port = 1}, {}));
  // Ranks that go from node to node in turn, or are on a node that is not there.
  for (const TensorflowWorker& elsewhere : {TensorflowWorker{.rank = 1, .node = 1, .on_node = 0},
                                            {.rank = 2, .node = 0, .on_node = 2},
                                            {.rank = 3, .node = 2, .on_node = 0},
                                            {.rank = -1, .node = -1, .on_node = 0},
                                            {.rank = 1, .node = 1, .on_node = -1}})
    CHECK_FALSE(tensorflow_config(cluster, elsewhere));
}

TEST_CASE("the cluster is read from the variables of a rank and the places of all ranks") {
  const std::vector<std::string> environment = {"MASTER_PORT=20433",
                                                "FASTGPU_NODE_IPS=10.0.0.1\n10.0.0.2"};
  const auto cluster = tensorflow_cluster(environment, {2, 1});
  REQUIRE(cluster);
  CHECK(cluster->nodes == std::vector<TensorflowNode>{{"10.0.0.1", 2}, {"10.0.0.2", 1}});
  CHECK(cluster->port == 20'433);
  for (const std::vector<int>& others : {std::vector<int>{}, {3}, {1, 1, 1}})
    CHECK_FALSE(tensorflow_cluster(environment, others));
  for (std::size_t missing = 0; missing < environment.size(); ++missing) {
    auto fewer = environment;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(missing));
    CHECK_FALSE(tensorflow_cluster(fewer, {2, 1}));
  }
}

TEST_SUITE_END();

}  // namespace fastgpu::agent
