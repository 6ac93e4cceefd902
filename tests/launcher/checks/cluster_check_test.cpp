#include "launcher/checks/cluster_check.hpp"

#include <doctest/doctest.h>

#include <set>

#include "fakes/fake_ssh.hpp"
#include "launcher/checks/node_facts.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using namespace std::chrono_literals;
using test::FakeReply;
using test::FakeSsh;
using test::mentions;

std::vector<ClusterNode> cluster_of(int count) {
  std::vector<ClusterNode> nodes;
  for (int i = 0; i < count; ++i) {
    ClusterNode node;
    node.host.name = {"n" + std::to_string(i)};
    node.peer.address = "10.0.0." + std::to_string(i + 1);
    nodes.push_back(node);
  }
  return nodes;
}

/// Returns the output of the script on a node whose clock is `ahead` of ours.
std::string health_text(std::chrono::seconds ahead) {
  const auto now =
      std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now() + ahead);
  return "fastgpu-check\t1\ntime\t" + std::to_string(now.time_since_epoch().count()) +
         ".000000000\nhost\tn\nend\n";
}

std::string facts_text() {
  agent::JobNodeFacts facts;
  facts.mpirun = "/usr/bin/mpirun";
  facts.addresses = {"192.168.7.1/24"};
  return to_text(facts);
}

struct FakeCluster {
  FakeCluster() {
    ssh = FakeSsh([this](const FakeSsh::Seen& seen) -> FakeReply {
      const bool is_script = seen.command.find("probe-links") == std::string::npos &&
                             seen.command.find("facts") == std::string::npos;
      if (seen.host == "n1" && is_script) return on_second;
      if (is_script) return {.out = health_text(0s)};
      if (seen.command.find("facts") != std::string::npos) return {.out = facts_text()};
      return {.out = to_text(agent::LinkAnswer{
                  .interfaces = {},
                  .links = {{.name = agent::parse_link_plan(seen.input).targets.at(0).name,
                             .failure = "refused"}}})};
    });
  }

  std::vector<CheckedNode> check() { return check_nodes(ssh, nodes, agent, cancel); }

  std::vector<ClusterNode> nodes = cluster_of(2);
  FakeReply on_second{.out = health_text(0s)};
  remote::AgentProgram agent{.file = {}, .hash = {"0123456789abcdef"}};
  Cancel cancel;
  FakeSsh ssh;
};

TEST_SUITE_BEGIN("launcher/checks/cluster_check");

TEST_CASE_FIXTURE(FakeCluster, "one node is asked for its facts alone, and its failure kept") {
  const auto ask = [&] { return ask_node(ssh, nodes[0].host, agent, {}, cancel); };
  CHECK(ask().value().mpirun == "/usr/bin/mpirun");
  REQUIRE(ssh.seen.size() == 1);
  CHECK(ssh.seen[0].command.find("facts") != std::string::npos);
  ssh = FakeSsh([](const FakeSsh::Seen&) -> FakeReply {
    return {.exit = {.status = 3}, .err = "no such option\n"};
  });
  CHECK(mentions(ask().error(), "the agent ended with 3: no such option"));
  ssh = FakeSsh([](const FakeSsh::Seen&) -> FakeReply {
    return {.failure = Error(ErrorKind::transient, "connection refused")};
  });
  CHECK(ask().error().kind() == ErrorKind::transient);
}

TEST_CASE_FIXTURE(FakeCluster, "every node runs the script and the agent, and its clock is read") {
  on_second.out = health_text(10min);
  const auto checked = check();
  REQUIRE(checked.size() == 2);
  for (const CheckedNode& node : checked) {
    CHECK(node.state.ok());
    CHECK(node.facts.value().mpirun == "/usr/bin/mpirun");
  }
  CHECK(ssh.seen.at(0).input == check_script());
  CHECK(std::chrono::abs(checked[0].clock_ahead) < 5s);
  CHECK(std::chrono::abs(checked[1].clock_ahead - 10min) < 5s);
}

TEST_CASE_FIXTURE(FakeCluster,
                  "a node that fails is left alone afterwards, and the others are not") {
  on_second = {.failure = Error(ErrorKind::transient, "connection refused")};
  CHECK(mentions(check().at(1).state.error(), "connection refused"));
  CHECK(ssh.seen.size() == 3);
  on_second = {.exit = {.status = 127}, .err = "sh: not found\nmore\n"};
  CHECK(std::string(check().at(1).state.error().what()) == "sh: not found");
  on_second = {.out = "fastgpu-check\t1\nmemory\tall\nend\n"};
  CHECK(mentions(check().at(1).state.error(), "memory"));
  CHECK(check().at(0).state.ok());
}

TEST_CASE_FIXTURE(FakeCluster, "a cancel ends the check") {
  cancel.request();
  CHECK(test::failure_of([&] { check(); }).kind() == ErrorKind::interrupted);
}

TEST_CASE_FIXTURE(FakeCluster,
                  "nodes meet at the addresses that join them, on ports of their own") {
  auto checked = check();
  const auto links = linked_nodes(nodes, checked);
  REQUIRE(links.size() == 2);
  CHECK(links[0].address == "10.0.0.1");  // Their own addresses do not join them.
  std::set<std::uint16_t> ports(links[0].ports.begin(), links[0].ports.end());
  CHECK(ports.size() == 3);
  for (std::size_t i = 0; i < 2; ++i) {
    agent::JobNodeFacts facts = checked[i].facts.value();
    facts.addresses = {"172.17.0.1/16", "192.168.7." + std::to_string(i + 1) + "/24"};
    checked[i].facts = facts;
  }
  CHECK(linked_nodes(nodes, checked)[1].address == "192.168.7.2");
  checked[1].facts = Error(ErrorKind::remote, "no agent");
  CHECK(linked_nodes(nodes, checked).size() == 1);
}

TEST_CASE_FIXTURE(FakeCluster, "each node gets its order, and its answer is read") {
  const auto links = linked_nodes(nodes, check());
  const auto request = new_link_probe();
  CHECK(request.secret.size() == 32);
  const auto answers = probe_links(ssh, nodes, links, request, agent, cancel);
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].value().links.at(0).name == "n1");
  CHECK(answers[1].value().links.at(0).name == "n0");
  CHECK(connection_findings(links, answers).size() == 2);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
