#include "launcher/reach.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "agent/protocol/records.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using test::failure_of;
using test::mentions;
using Words = std::vector<std::string>;

struct Nodes {
  explicit Nodes(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string address = "10.0.0." + std::to_string(i + 1);
      request.nodes.push_back(
          {.ranks = {.node = {"n" + std::to_string(i)}, .first = i, .count = 1},
           .peer = {.address = i == 1 ? "fd00::2" : "gw", .port = 2222, .user = "root"}});
      agent::JobNodeFacts node{};
      node.addresses = {address + "/24"};
      node.ssh_address = address;
      facts.push_back(node);
    }
  }

  JobFilesRequest request;
  std::vector<agent::JobNodeFacts> facts;
};

ReachAnswer answer(std::size_t place, const Words& lines) {
  agent::Records records;
  for (const std::string& line : lines)
    records.add("unreached", line);
  return {place, records.text()};
}

TEST_SUITE_BEGIN("launcher/reach");

TEST_CASE("each node asks the others, and the first one for an sshd at an address of a router") {
  const Nodes nodes(3);
  CHECK(reach_words(nodes.request, nodes.facts, 0) ==
        Words{"--ssh", "[fd00::2]:2222", "--", "10.0.0.2", "10.0.0.3"});
  CHECK(reach_words(nodes.request, nodes.facts, 2) == Words{"--", "10.0.0.1", "10.0.0.2"});
}

TEST_CASE("where the nodes' own addresses are unknown, only the way to start them is asked for") {
  Nodes nodes(2);
  nodes.facts[1].addresses = {"10.1.0.2/24"};
  CHECK(reach_words(nodes.request, nodes.facts, 0) == Words{"--ssh", "[fd00::2]:2222"});
  CHECK(reach_words(nodes.request, nodes.facts, 1).empty());
}

TEST_CASE("a node knows the MTU of the others' interfaces, where it is known") {
  Nodes nodes(3);
  nodes.facts[1].addresses = {"172.17.0.1/16", "10.0.0.2/24"};
  nodes.facts[1].mtus = {1500, 9000};
  nodes.facts[2].mtus = {0};
  CHECK(reach_words(nodes.request, nodes.facts, 0) ==
        Words{"--ssh", "[fd00::2]:2222", "--", "10.0.0.2,9000", "10.0.0.3"});
}

TEST_CASE("two nodes between which large packets get lost are named, and what to do") {
  const Nodes nodes(3);
  agent::Records records;
  records.add("loses", "10.0.0.2 1500");
  const Error e = failure_of([&] {
    check_reach(nodes.request, nodes.facts,
                std::vector{answer(0, {}), ReachAnswer{2, records.text()}});
  });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(mentions(e, "packets of 1500 bytes from n2 to n1 at 10.0.0.2 are lost on the way"));
  CHECK(mentions(e, "one MTU"));
  agent::Records foreign;
  foreign.add("loses", "192.0.2.1 1500");
  CHECK_NOTHROW(check_reach(nodes.request, nodes.facts,
                            std::vector{answer(0, {}), ReachAnswer{1, foreign.text()}}));
}

TEST_CASE("a node alone asks nothing") {
  const Nodes nodes(1);
  CHECK(reach_words(nodes.request, nodes.facts, 0).empty());
}

TEST_CASE("of many nodes each asks a few, the first one always among them") {
  const Nodes nodes(100);
  for (const std::size_t place : {std::size_t{1}, std::size_t{50}, std::size_t{99}}) {
    const auto words = reach_words(nodes.request, nodes.facts, place);
    CHECK(words.size() == 33);
    CHECK(std::ranges::count(words, "10.0.0.1") == 1);
  }
}

TEST_CASE("nodes that reach each other pass") {
  const Nodes nodes(2);
  CHECK_NOTHROW(check_reach(nodes.request, nodes.facts, std::vector{answer(0, {}), answer(1, {})}));
}

TEST_CASE("the two nodes that cannot reach each other are named, and what to do") {
  const Nodes nodes(3);
  const Error e = failure_of([&] {
    check_reach(
        nodes.request, nodes.facts,
        std::vector{answer(0, {}), answer(1, {"10.0.0.3 TCP port 40000: no answer within 5s"}),
                    answer(2, {"10.0.0.2 TCP port 41000: no answer within 5s"})});
  });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(mentions(e, "n1 cannot reach n2 at 10.0.0.3, TCP port 40000: no answer within 5s"));
  CHECK(mentions(e, "firewall"));
  CHECK(mentions(e, "1 other connection"));
  const Error by_ssh = failure_of([&] {
    check_reach(nodes.request, nodes.facts,
                std::vector{answer(0, {"[fd00::2]:2222 TCP port 2222: No route to host"})});
  });
  CHECK(mentions(by_ssh, "n0 cannot reach n1 at [fd00::2]:2222"));
  CHECK(mentions(by_ssh, "inner"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
