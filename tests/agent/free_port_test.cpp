#include "agent/jobs/free_port.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

namespace fastgpu::agent {

TEST_SUITE_BEGIN("agent/free_port");

TEST_CASE("ports are so far from each other that the workers of a node fit between them") {
  constexpr int kTrials = 300;
  for (int i = 0; i < kTrials; ++i) {
    const auto ports = find_free_ports(2);
    REQUIRE(ports.size() == 2);
    CHECK(std::abs(ports[0] - ports[1]) >= 512);
  }
}

TEST_SUITE_END();

}  // namespace fastgpu::agent
