#include "cli/commands/job/host_choice.hpp"

#include <doctest/doctest.h>

#include "launcher/host_list.hpp"
#include "support/failure.hpp"

namespace fastgpu::cli {
namespace {

using fastgpu::test::failure_of;

std::string named(const std::string& list) {
  const std::vector<state::Node> nodes = {
      {.index = 0, .name = {"demo-0"}, .address = "198.51.100.4", .private_address = "10.0.0.4"},
      {.index = 1, .name = {"demo-1"}, .address = "198.51.100.5", .private_address = "10.0.0.5"}};
  std::string shown;
  for (const launcher::NodeSlots& host : with_node_names(launcher::parse_host_list(list), nodes))
    shown += host.name.value + "=" + std::to_string(host.slots) + " ";
  return shown;
}

TEST_SUITE_BEGIN("cli/host_choice");

TEST_CASE("a host of -H is a node by its name or by one of its addresses") {
  CHECK(named("demo-1:2,demo-0") == "demo-1=2 demo-0=1 ");
  CHECK(named("10.0.0.5:8,198.51.100.4:8") == "demo-1=8 demo-0=8 ");
  CHECK(named("demo-0:2,10.0.0.4:2,demo-1:*") == "demo-0=4 demo-1=0 ");
  CHECK(named("0,demo-[0-1]:2") == "0=1 demo-[0-1]=2 ");
  CHECK(named("localhost:4") == "demo-0=4 ");
  CHECK(named("localhost:4,10.0.0.5:4") == "demo-0=4 demo-1=4 ");
}

TEST_CASE("a hostfile of mpirun is a list of hosts") {
  CHECK(host_list_of("# nodes\ndemo-0 slots=4 max_slots=4\n\ndemo-1\n10.0.0.6 slots=2\n", "f") ==
        "demo-0:4,demo-1:*,10.0.0.6:2");
  CHECK(host_list_of("n[1-2] slots=2\n", "f") == "n1:2,n2:2");
  const Error bad = failure_of([] { host_list_of("demo-0 slots=many\n", "hosts"); });
  CHECK(bad.kind() == ErrorKind::usage);
  CHECK(std::string(bad.what()).find("hosts:1: ") == 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
