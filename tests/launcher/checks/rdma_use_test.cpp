#include "launcher/checks/rdma_use.hpp"

#include <doctest/doctest.h>

namespace fastgpu::launcher {
namespace {

constexpr MeasuredExchange kExchanged{.size = {1'000'000}, .rate = 20.12e9};

/// Nodes with ports that have sent so many bytes.
std::vector<CheckedNode> nodes_that_sent(const std::vector<std::vector<std::uint64_t>>& sent) {
  std::vector<CheckedNode> nodes;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    NodeHealth state;
    for (std::size_t port = 0; port < sent[i].size(); ++port)
      state.rdma.push_back({.device = "efa_" + std::to_string(port),
                            .port = "1",
                            .state = "ACTIVE",
                            .rate = "100 Gb/sec",
                            .link_layer = "Unspecified",
                            .sent = sent[i][port],
                            .counts_bytes = true});
    nodes.push_back({.name = {"n" + std::to_string(i)}, .state = state});
  }
  return nodes;
}

TEST_SUITE_BEGIN("launcher/checks/rdma_use");

TEST_CASE("a port was used if it sent a part of the exchange, and not for a heartbeat") {
  const auto before = nodes_that_sent({{5, 5}, {0, 0}});
  const RdmaUse use = rdma_use(before, nodes_that_sent({{900'005, 105}, {0, 800'000}}), kExchanged);
  CHECK(use.active == 4);
  CHECK(use.used == 2);
  CHECK(use.nodes_that_used == 2);
  CHECK_FALSE(tcp_finding(use, 2, Severity::error));
}

TEST_CASE("the rate of the exchange is told beside the speed of all active ports of a node") {
  const auto before = nodes_that_sent({{0, 0, 0, 0}, {0, 0, 0}});
  const auto after = nodes_that_sent({{900'000, 0, 0, 0}, {0, 0, 800'000}});
  const RdmaUse use = rdma_use(before, after, kExchanged);
  CHECK(use.rate == doctest::Approx(20.12e9));
  CHECK(use.speed == doctest::Approx(37.5e9));
  CHECK(in_words(use) ==
        "2 of 7 active ports carried the all-reduce, at 20.1 of 37.5 GB/s on each node");
}

TEST_CASE("no rate is told of RDMA if a node did not use it, and no speed that is not known") {
  auto before = nodes_that_sent({{0}, {0}});
  const auto half = rdma_use(before, nodes_that_sent({{900'000}, {0}}), kExchanged);
  CHECK(in_words(half) == "1 of 2 active ports carried the all-reduce");
  NodeHealth state = before[1].state.value();
  state.rdma[0].rate = "unknown";
  before[1].state = state;
  const auto all = rdma_use(before, nodes_that_sent({{900'000}, {900'000}}), kExchanged);
  CHECK(in_words(all) == "2 of 2 active ports carried the all-reduce, at 20.1 GB/s on each node");
}

TEST_CASE("an exchange beside the RDMA ports of all nodes is a finding") {
  const auto before = nodes_that_sent({{5}, {0}});
  const RdmaUse use = rdma_use(before, before, kExchanged);
  const auto finding = tcp_finding(use, 2, Severity::error);
  REQUIRE(finding);
  CHECK(finding->severity == Severity::error);
  CHECK(finding->found == "the all-reduce used TCP: 0 of 2 active RDMA ports carried data");
  CHECK(tcp_finding(use, 2, Severity::warning)->severity == Severity::warning);
}

TEST_CASE("nothing is expected of RDMA if a node has none, or ports that do not count") {
  const auto before = nodes_that_sent({{5}, {}});
  CHECK_FALSE(tcp_finding(rdma_use(before, before, kExchanged), 2, Severity::error));
  auto silent = nodes_that_sent({{5}, {5}});
  for (CheckedNode& node : silent) {
    NodeHealth state = node.state.value();
    state.rdma[0].counts_bytes = false;
    node.state = state;
  }
  CHECK_FALSE(tcp_finding(rdma_use(silent, silent, kExchanged), 2, Severity::error));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
