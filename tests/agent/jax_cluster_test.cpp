#include "agent/jobs/jax_cluster.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

namespace fastgpu::agent {
namespace {

TEST_SUITE_BEGIN("agent/jax_cluster");

TEST_CASE("JAX finds in the variable of Open MPI the address of rank 0, and a port by a number") {
  // 29500 % 4096 = 828: JAX's coordinator listens at 61440 + 828.
  CHECK(open_mpi_uri("10.0.0.1", 29500) == "3391488.0;tcp://10.0.0.1:29500");
  CHECK(3391488 / 4096 % 4096 == 828);
  CHECK(open_mpi_uri("fd00::1", 4096) == "0.0;tcp6://[fd00::1]:4096");
}

TEST_CASE("ranks of an Open MPI without that variable get it, and no others") {
  const std::vector<std::string> five = {"OMPI_COMM_WORLD_SIZE=4", "MASTER_ADDR=10.0.0.1",
                                         "MASTER_PORT=20000"};
  CHECK(jax_variable(five) == "OMPI_MCA_orte_hnp_uri=14811136.0;tcp://10.0.0.1:20000");
  auto four = five;
  four.emplace_back("OMPI_MCA_orte_hnp_uri=1531576320.0;tcp://10.96.0.1:34911");
  CHECK_FALSE(jax_variable(four));
  CHECK_FALSE(jax_variable({"MASTER_ADDR=10.0.0.1", "MASTER_PORT=20000"}));
  CHECK_FALSE(jax_variable({"OMPI_COMM_WORLD_SIZE=4", "MASTER_ADDR=10.0.0.1"}));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
