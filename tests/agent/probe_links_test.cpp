// The agents of several nodes, here in one network, connect to each other.
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <random>

#include "agent/protocol/link_probe.hpp"
#include "launcher/checks/links.hpp"
#include "support/agent_process.hpp"

namespace fastgpu::agent {
namespace {

using namespace std::chrono_literals;
using launcher::LinkNode;
using test::run_agent;
using test::ScratchHome;

std::vector<LinkNode> nodes_here(int count) {
  std::random_device random;
  std::uniform_int_distribution<int> first(20'000, 31'000);
  const int port = first(random);
  std::vector<LinkNode> nodes;
  for (int i = 0; i < count; ++i)
    nodes.push_back({.name = {"n" + std::to_string(i)},
                     .address = "127.0.0.1",
                     .ports = {static_cast<std::uint16_t>(port + 2 * i),
                               static_cast<std::uint16_t>(port + 2 * i + 1)}});
  return nodes;
}

/// Runs one agent for each plan at the same time. Returns their answers.
std::vector<LinkAnswer> probe(const std::vector<LinkPlan>& plans) {
  const ScratchHome home;
  std::vector<LinkAnswer> answers(plans.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < plans.size(); ++i)
    threads.emplace_back([&, i] {
      const auto done = run_agent(home, {"probe-links"}, to_text(plans[i]));
      if (done.status.ok()) answers[i] = parse_link_answer(done.out);
    });
  threads.clear();
  return answers;
}

TEST_SUITE_BEGIN("agent/probe_links");

TEST_CASE("agents that start one after another reach each other") {
  auto plans = launcher::link_plans(nodes_here(3), {.secret = std::string(32, 'a')});
  for (LinkPlan& plan : plans)
    plan.connect_timeout = 10s;
  const auto answers = probe(plans);
  for (const LinkAnswer& answer : answers) {
    REQUIRE(answer.links.size() == 2);
    for (const LinkResult& link : answer.links) {
      CHECK(link.failure == "");
      CHECK(link.round_trip > 0ns);
      CHECK(link.sent == 0);
    }
  }
}

TEST_CASE("each pair is measured in both directions in its slot") {
  const auto plans = launcher::link_plans(
      nodes_here(4), {.secret = std::string(32, 'b'), .slot = 200ms, .rounds = 3});
  const auto answers = probe(plans);
  std::size_t links = 0;
  for (const LinkAnswer& answer : answers)
    for (const LinkResult& link : answer.links) {
      ++links;
      CHECK(link.failure == "");
      CHECK(link.sent > 1'000'000);
      CHECK(link.received > 1'000'000);
    }
  CHECK(links == 6);
}

TEST_CASE("a node that does not listen is reported in time, and so is a stranger at its port") {
  auto nodes = nodes_here(3);
  auto plans = launcher::link_plans(nodes, {.secret = std::string(32, 'c')});
  plans.pop_back();  // The third node does not run.
  for (LinkPlan& plan : plans) {
    plan.connect_timeout = 1s;
    plan.incoming = 1;
  }
  const auto began = std::chrono::steady_clock::now();
  const auto answers = probe(plans);
  CHECK(std::chrono::steady_clock::now() - began < 20s);
  for (const LinkResult& link : answers[0].links)
    CHECK((link.name == "n2") == (link.failure == "Connection refused"));
  CHECK(answers[1].links.size() == 2);
}

TEST_CASE("a connection without the secret is not served") {
  auto plans = launcher::link_plans(nodes_here(2), {.secret = std::string(32, 'd')});
  plans[0].secret = std::string(32, 'e');
  for (LinkPlan& plan : plans)
    plan.connect_timeout = 1s;
  for (const LinkAnswer& answer : probe(plans))
    CHECK(answer.links.at(0).failure == "no answer of the agent");
}

TEST_CASE("an order that is damaged is refused") {
  const ScratchHome home;
  CHECK_FALSE(run_agent(home, {"probe-links"}, "secret=short").status.ok());
  CHECK_FALSE(run_agent(home, {"probe-links"}, "").status.ok());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
