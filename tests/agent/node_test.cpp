#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "agent/protocol/facts.hpp"
#include "agent/protocol/records.hpp"
#include "base/rdma_devices.hpp"
#include "support/agent_process.hpp"
#include "support/failure.hpp"

namespace fastgpu::agent {
namespace {

using test::failure_of;
using test::run_agent;
using test::ScratchHome;

TEST_SUITE_BEGIN("agent/node");

TEST_CASE("facts have what the launcher needs of a node") {
  const ScratchHome home;
  const JobNodeFacts facts = parse_node_facts(run_agent(home, {"facts"}).out);
  CHECK(facts.home == home.path().string());
  CHECK(facts.cores >= 1);
  CHECK(facts.boot_id.size() == 36);
  for (const std::string& address : facts.addresses) {
    CHECK(address.find('/') != std::string::npos);
    CHECK_FALSE(address.starts_with("127."));
  }
}

TEST_CASE("facts list the RDMA ports of the node, with their addresses") {
  const ScratchHome home;
  const std::filesystem::path port = home.path() / "root/sys/class/infiniband/mlx5_0/ports/1";
  const std::string gid = "fe80:0000:0000:0000:5054:00ff:fe77:0001";
  test::write_file(port / "state", "4: ACTIVE\n");
  test::write_file(port / "rate", "100 Gb/sec (4X EDR)\n");
  test::write_file(port / "link_layer", "Ethernet\n");
  test::write_file(port / "gids/0", "0000:0000:0000:0000:0000:0000:0000:0000\n");
  test::write_file(port / "gids/1", gid + "\n");
  test::write_file(port / "gid_attrs/types/1", "RoCE v2\n");
  const JobNodeFacts facts =
      parse_node_facts(run_agent(home, {"facts", "--root", (home.path() / "root").string()}).out);
  CHECK(facts.rdma_device == "mlx5_0");
  CHECK(facts.rdma_obstacle.starts_with("/dev/infiniband has no uverbs device"));
  CHECK(facts.rdma_ports ==
        std::vector<RdmaPort>{{.device = "mlx5_0",
                               .number = "1",
                               .state = "ACTIVE",
                               .has_address = true,
                               .link_layer = "Ethernet",
                               .mbit = 100'000,
                               .gids = {{.index = 1, .gid = gid, .type = "RoCE v2"}}}});
}

TEST_CASE("a node says that its mpirun does not answer") {
  CHECK_FALSE(parse_node_facts(to_text(JobNodeFacts())).is_mpirun_silent);
  JobNodeFacts facts;
  facts.is_mpirun_silent = true;
  CHECK(parse_node_facts(to_text(facts)).is_mpirun_silent);
}

TEST_CASE("RDMA ports survive the way from a node, and those that no kernel has are refused") {
  JobNodeFacts facts;
  facts.rdma_ports = {{.device = "m\\0x",
                       .number = "1",
                       .state = "ACTIVE",
                       .has_address = true,
                       .numa_node = 1,
                       .driver = "efa",
                       .link_layer = "Unknown",
                       .mbit = 100'000,
                       .interface = "eth0",
                       .gids = {{.index = 0, .gid = "fe80:1"}, {.index = 1, .gid = "fe80:2"}}},
                      {.device = "siw0", .number = "1"}};
  CHECK(parse_node_facts(to_text(facts)).rdma_ports == facts.rdma_ports);

  const auto is_refused = [](const RdmaPort& port, std::size_t count = 1) {
    JobNodeFacts bad;
    bad.rdma_ports.assign(count, port);
    return failure_of([&] { parse_node_facts(to_text(bad)); }).kind() == ErrorKind::remote;
  };
  CHECK(is_refused({.mbit = -1}));
  CHECK(is_refused({.device = std::string(1'000, 'x')}));
  CHECK(is_refused({.numa_node = -2}));
  CHECK(is_refused({.gids = std::vector<RdmaGid>(kMaxGids + 1)}));
  CHECK(is_refused({.gids = {{.index = 70'000}}}));
  CHECK(is_refused({}, 1'000));
  const std::string text = to_text(JobNodeFacts()) + "rdma_port=device=x" + '\0';
  CHECK(failure_of([&] { parse_node_facts(text); }).kind() == ErrorKind::remote);
}

TEST_CASE("large packets to this machine are not lost") {
  const ScratchHome home;
  for (const char* const target : {"127.0.0.1,65536", "127.0.0.1,1500", "::1,1500"}) {
    const Records answer(run_agent(home, {"reach-nodes", "--", target}).out, "answer");
    CHECK(answer.all("loses").empty());
  }
}

TEST_CASE("a listener that is there is reached, and what is not reached is named") {
  const ScratchHome home;
  CHECK(Records(run_agent(home, {"reach-nodes", "--", "127.0.0.1"}).out, "answer")
            .all("unreached")
            .empty());
  const auto lost =
      Records(
          run_agent(home, {"reach-nodes", "--ssh", "127.0.0.1:1", "--ssh", "no.such.host.:22"}).out,
          "answer")
          .all("unreached");
  REQUIRE(lost.size() == 2);
  CHECK(lost[0] == "no.such.host.:22 its name cannot be resolved");
  CHECK(lost[1] == "127.0.0.1:1 TCP port 1: Connection refused");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
