#include "agent/jobs/tensorflow_cluster.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace fastgpu::agent {

TEST_SUITE_BEGIN("agent/tensorflow_cluster");

TEST_CASE("workers are named by node, each at a port of its own") {
  const TensorflowCluster cluster{
      .nodes = {"10.0.0.1", "fd00::2"}, .ranks_a_node = 2, .size = 4, .port = 20'433};
  CHECK(tensorflow_config(cluster, 3) ==
        R"({"cluster":{"worker":["10.0.0.1:20433","10.0.0.1:20434","[fd00::2]:20433",)"
        R"("[fd00::2]:20434"]},"task":{"type":"worker","index":3}})");
}

TEST_CASE("no workers are named where they would be wrong") {
  const TensorflowCluster whole{
      .nodes = {"10.0.0.1", "10.0.0.2"}, .ranks_a_node = 2, .size = 4, .port = 65'534};
  CHECK(tensorflow_config(whole, 0));
  auto uneven = whole;
  uneven.size = 3;
  CHECK_FALSE(tensorflow_config(uneven, 0));
  auto too_high = whole;
  too_high.port = 65'535;
  CHECK_FALSE(tensorflow_config(too_high, 0));
  const TensorflowCluster alone{.nodes = {"10.0.0.1"}, .ranks_a_node = 1, .size = 1, .port = 1};
  CHECK_FALSE(tensorflow_config(alone, 0));
}

TEST_CASE("the cluster is read from the variables of a rank") {
  const std::vector<std::string> environment = {"WORLD_SIZE=4", "LOCAL_WORLD_SIZE=2",
                                                "MASTER_PORT=20433",
                                                "FASTGPU_NODE_IPS=10.0.0.1\n10.0.0.2"};
  const auto cluster = tensorflow_cluster(environment);
  REQUIRE(cluster);
  CHECK(cluster->nodes == std::vector<std::string>{"10.0.0.1", "10.0.0.2"});
  CHECK(cluster->ranks_a_node == 2);
  CHECK(cluster->size == 4);
  CHECK(cluster->port == 20'433);
  for (std::size_t missing = 0; missing < environment.size(); ++missing) {
    auto fewer = environment;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(missing));
    CHECK_FALSE(tensorflow_cluster(fewer));
  }
}

TEST_SUITE_END();

}  // namespace fastgpu::agent
