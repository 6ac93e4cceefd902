#include "launcher/slow_network.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "process/command.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using test::failure_of;
using test::mentions;

/// The nodes n0, n1, ... of a job, whose ranks can use their RDMA devices.
struct RdmaNodes {
  explicit RdmaNodes(int count) {
    for (int i = 0; i < count; ++i) {
      request.nodes.push_back(
          {.ranks = {.node = {"n" + std::to_string(i)}, .first = i, .count = 1}, .peer = {}});
      agent::JobNodeFacts node{};
      node.rdma_device = "mlx5_0";
      facts.push_back(node);
    }
  }
  RdmaNodes& with(const std::string& assignment) {
    process::set_variable(request.spec.environment, assignment);
    return *this;
  }
  std::string check() const { return check_fabric(request, facts); }

  JobFilesRequest request;
  std::vector<agent::JobNodeFacts> facts;
};

const std::string kRequire = "FASTGPU_COMM_REQUIRE=fabric";

TEST_SUITE_BEGIN("launcher/slow network");

TEST_CASE("nodes whose devices can be used, and nodes without any, need no words") {
  RdmaNodes nodes(2);
  CHECK(nodes.check().empty());
  CHECK(nodes.with(kRequire).check().empty());
  RdmaNodes without(2);
  for (agent::JobNodeFacts& node : without.facts)
    node.rdma_device.clear();
  CHECK(without.check().empty());
}

TEST_CASE("the first node whose device cannot be used is named, with the reason and the others") {
  RdmaNodes nodes(4);
  nodes.facts[1].rdma_obstacle = "port 1 of mlx5_0 is DOWN: check its cable";
  CHECK(
      nodes.check().starts_with("ranks on n1 cannot use its RDMA device mlx5_0: port 1 of mlx5_0 "
                                "is DOWN: check its cable; TCP carries their messages"));
  nodes.facts[0].rdma_device.clear();
  nodes.facts[3].rdma_obstacle = "another";
  CHECK(nodes.check().find("check its cable (and 2 other nodes cannot use one either)") !=
        std::string::npos);
}

TEST_CASE("a node without a device among nodes that have one is named") {
  RdmaNodes nodes(3);
  nodes.facts[2].rdma_device.clear();
  CHECK(nodes.check().starts_with("n0 has the RDMA device mlx5_0, but n2 has no RDMA device; TCP"));
}

TEST_CASE("a job that requires a fabric ends before it starts, for lack of capacity") {
  RdmaNodes nodes(2);
  nodes.with(kRequire).facts[1].rdma_device.clear();
  const Error lack = failure_of([&] { nodes.check(); });
  CHECK(lack.kind() == ErrorKind::capacity);
  CHECK(mentions(lack, "FASTGPU_COMM_REQUIRE is 'fabric', but n1 has no RDMA device"));
  nodes.facts[0].rdma_device.clear();
  CHECK(mentions(failure_of([&] { nodes.check(); }), "n0 has no RDMA device (and 1 other node "));
  nodes.facts[0].rdma_device = "efa0";
  nodes.facts[0].rdma_obstacle = "closed";
  CHECK(mentions(failure_of([&] { nodes.check(); }), "its RDMA device efa0: closed"));
  CHECK(RdmaNodes(nodes).with("FASTGPU_COMM_REQUIRE=any").check().starts_with("ranks on n0"));
}

TEST_CASE("a job on one node, and one that has chosen its network, is left alone") {
  for (const std::string choice : {"FASTGPU_COMM_TRANSPORT=tcp", "FASTGPU_COMM_TRANSPORT=mpi",
                                   "FASTGPU_COMM_FABRIC=off", "FASTGPU_COMM_FABRIC=net"}) {
    CAPTURE(choice);
    RdmaNodes nodes(2);
    nodes.facts[0].rdma_obstacle = "port 1 of mlx5_0 is DOWN";
    CHECK(nodes.with(choice).check().empty());
  }
  RdmaNodes software(2);
  software.facts[0].rdma_obstacle = "port 1 of mlx5_0 is DOWN";
  CHECK(software.with("FASTGPU_COMM_FABRIC=net").with(kRequire).check().empty());
  RdmaNodes single(1);
  single.facts[0].rdma_obstacle = "port 1 of mlx5_0 is DOWN";
  CHECK(single.with(kRequire).check().empty());
}

TEST_CASE("a job that names a provider of RDMA devices needs one, whether or not it requires it") {
  for (const std::string provider : {"verbs", "efa", "verbs;ofi_rxm"}) {
    RdmaNodes nodes(2);
    CHECK(nodes.with("FASTGPU_COMM_FABRIC=" + provider).check().empty());
    nodes.facts[1].rdma_device.clear();
    const Error lack = failure_of([&] { nodes.check(); });
    CHECK(lack.kind() == ErrorKind::capacity);
    CHECK(mentions(lack, "FASTGPU_COMM_FABRIC is '" + provider + "', but n1 has no RDMA device"));
    CHECK(mentions(failure_of([&] { nodes.with(kRequire).check(); }), "n1 has no RDMA device"));
  }
}

TEST_CASE("an empty variable is as good as none") {
  RdmaNodes nodes(2);
  nodes.facts[0].rdma_obstacle = "port 1 of mlx5_0 is DOWN";
  CHECK_FALSE(nodes.with("FASTGPU_COMM_FABRIC=").with("FASTGPU_COMM_REQUIRE=").check().empty());
  CHECK(failure_of([&] { nodes.with(kRequire).check(); }).kind() == ErrorKind::capacity);
}

TEST_CASE("a requirement that the library would refuse is refused before the start") {
  for (const std::string choice :
       {"FASTGPU_COMM_TRANSPORT=tcp", "FASTGPU_COMM_TRANSPORT=mpi", "FASTGPU_COMM_FABRIC=off"}) {
    RdmaNodes nodes(1);
    const Error refusal = failure_of([&] { nodes.with(choice).with(kRequire).check(); });
    CHECK(refusal.kind() == ErrorKind::usage);
    CHECK(mentions(refusal, "does without one"));
  }
  CHECK(mentions(failure_of([] { RdmaNodes(2).with("FASTGPU_COMM_REQUIRE=rdma").check(); }),
                 "FASTGPU_COMM_REQUIRE is 'rdma', not one of any, fabric"));
}

TEST_CASE("what a node reports is shown without harm") {
  RdmaNodes nodes(2);
  nodes.facts[0].rdma_obstacle = "a\nline\x1b[31m";
  CHECK(nodes.check().find_first_of("\n\x1b") == std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
