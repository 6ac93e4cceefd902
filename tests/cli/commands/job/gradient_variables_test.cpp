#include "cli/commands/job/gradient_variables.hpp"

#include <doctest/doctest.h>

namespace fastgpu::cli {
namespace {

using Assignments = std::vector<std::string>;

state::Cluster cluster_of(const std::string& type, const std::string& provider = "aws") {
  state::CloudSpec spec;
  spec.rdma = true;
  spec.places.resize(1);
  spec.places[0].type = type;
  state::Cluster cluster;
  cluster.name = {"demo"};
  cluster.provider = provider;
  cluster.provider_spec = spec;
  cluster.network = state::CloudPlacement{};
  return cluster;
}

Assignments variables_on(const std::string& type, Assignments environment = {}) {
  add_gradient_variables(cluster_of(type), environment);
  return environment;
}

TEST_SUITE_BEGIN("cli/gradient_variables");

TEST_CASE("jobs on machines with fast networks get larger buckets and other lanes") {
  CHECK(variables_on("p4d.24xlarge") ==
        Assignments{"FASTGPU_COMM_FUSION=8MiB", "FASTGPU_COMM_LANES=4"});
  CHECK(variables_on("p5.48xlarge") ==
        Assignments{"FASTGPU_COMM_FUSION=32MiB", "FASTGPU_COMM_LANES=2"});
}

TEST_CASE("what the user sets stays, under each of its names") {
  CHECK(variables_on("p5.48xlarge", {"FASTGPU_COMM_FUSION=1MiB", "FASTGPU_COMM_LANES=1"}) ==
        Assignments{"FASTGPU_COMM_FUSION=1MiB", "FASTGPU_COMM_LANES=1"});
  CHECK(variables_on("p5.48xlarge", {"PERSEUS_ALLREDUCE_STREAMS=6"}) ==
        Assignments{"PERSEUS_ALLREDUCE_STREAMS=6", "FASTGPU_COMM_FUSION=32MiB"});
  CHECK(variables_on("p5.48xlarge", {"PERSEUS_ALLREDUCE_FUSION=64"}) ==
        Assignments{"PERSEUS_ALLREDUCE_FUSION=64", "FASTGPU_COMM_LANES=2"});
}

TEST_CASE("other machines leave the library its own settings") {
  CHECK(variables_on("g4dn.xlarge").empty());
  CHECK(variables_on("x9.unheard-of").empty());
  Assignments environment;
  state::Cluster local;
  local.provider = "local";
  add_gradient_variables(local, environment);
  CHECK(environment.empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
