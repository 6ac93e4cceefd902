#include "agent/interfaces.hpp"

#include <doctest/doctest.h>

namespace fastgpu::agent {
namespace {

TEST_SUITE_BEGIN("agent/interfaces");

TEST_CASE("the interface in a network is found by its IPv4 address") {
  const std::vector<Interface> own = {{"docker0", "172.17.0.1/16"},
                                      {"ens5", "fd00::7/64"},
                                      {"ens5", "10.0.0.7/24"},
                                      {"ens6", "10.1.0.7/24"}};
  CHECK(interface_in("10.0.0.0/29", own) == "ens5");
  CHECK(interface_in("10.1.0.0/24", own) == "ens6");
  CHECK(interface_in("172.16.0.0/12", own) == "docker0");
  CHECK(interface_in("0.0.0.0/0", own) == "docker0");
  for (const char* none : {"10.2.0.0/24", "10.0.0.0", "10.0.0.0/33", "fd00::/64", "", "10.0.0.0/x"})
    CHECK_FALSE(interface_in(none, own).has_value());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
