#include "base/host_names.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu {
namespace {

using test::failure_of;

TEST_SUITE_BEGIN("base/host_names");

TEST_CASE("a machine's own name has no capitals and no dots") {
  CHECK(host_form("Lab.gpu01-0") == "lab-gpu01-0");
  CHECK(host_form("demo-1") == "demo-1");
}

TEST_CASE("a node's name may be a cluster's longest name and an index") {
  CHECK_NOTHROW(check_node_name(std::string(40, 'a') + "-10000"));
  CHECK_NOTHROW(check_node_name("Lab.gpu01-0"));
  for (const std::string& name : {std::string(47, 'a'), std::string("a/b-0"), std::string("-0")}) {
    CAPTURE(name);
    CHECK(failure_of([&] { check_node_name(name); }).kind() == ErrorKind::usage);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
