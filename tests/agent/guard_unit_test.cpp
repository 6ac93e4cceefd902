#include "agent/guard/guard_unit.hpp"

#include <doctest/doctest.h>

#include <string>

namespace fastgpu::agent {
namespace {

TEST_SUITE_BEGIN("agent/guard_unit");

TEST_CASE("paths with blanks, marks and percent signs are one word of the unit each") {
  const std::string unit = guard_unit("/root/100%h \"x\"", "/root/100%h \"x\"/agent");
  CHECK(unit.find("\nEnvironment=\"HOME=/root/100%%h \\\"x\\\"\"\n") != std::string::npos);
  CHECK(unit.find("\nExecStart=\"/root/100%%h \\\"x\\\"/agent\" guard-run\n") != std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
