#include "launcher/checks/links.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

namespace fastgpu::launcher {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

constexpr std::int64_t kGigabyteEach = 1'000'000'000;

std::vector<LinkNode> some_nodes(int count) {
  std::vector<LinkNode> nodes;
  for (int i = 0; i < count; ++i)
    nodes.push_back({.name = {"n" + std::to_string(i)},
                     .address = "10.0.0." + std::to_string(i + 1),
                     .ports = {static_cast<std::uint16_t>(40'000 + i)}});
  return nodes;
}

/// The answers of nodes whose pairs are all equally fast.
struct EqualLinks {
  explicit EqualLinks(int count) : nodes(some_nodes(count)) {
    for (int i = 0; i < count; ++i) {
      agent::LinkAnswer answer;
      answer.interfaces = {{"eth0", nodes[static_cast<std::size_t>(i)].address + "/24", 1'500, 0}};
      for (int other = i + 1; other < count; ++other)
        answer.links.push_back({.name = "n" + std::to_string(other),
                                .failure = "",
                                .round_trip = 50us,
                                .sent = kGigabyteEach,
                                .received = kGigabyteEach});
      answers.push_back(answer);
    }
  }

  agent::LinkAnswer answer(std::size_t node) const { return answers[node].value(); }
  template <class Change>
  EqualLinks& with(std::size_t node, Change change) {
    agent::LinkAnswer changed = answer(node);
    change(changed);
    answers[node] = changed;
    return *this;
  }
  std::vector<Finding> connections() const { return connection_findings(nodes, answers); }
  std::vector<Finding> speeds() const { return speed_findings(nodes, answers); }

  std::vector<LinkNode> nodes;
  LinkAnswers answers;
};

TEST_SUITE_BEGIN("launcher/checks/links");

TEST_CASE("in a tournament each pair meets once, and nobody is in two pairs of a round") {
  for (int nodes = 2; nodes <= 33; ++nodes) {
    std::map<int, std::set<int>> met;
    for (int a = 0; a < nodes; ++a)
      for (int b = a + 1; b < nodes; ++b) {
        const int round = tournament_round(a, b, nodes);
        CHECK(round == tournament_round(b, a, nodes));
        CHECK(round >= 0);
        CHECK(round < tournament_rounds(nodes));
        CHECK(met[round].insert(a).second);
        CHECK(met[round].insert(b).second);
      }
  }
  CHECK(tournament_rounds(1) == 0);
  CHECK(tournament_rounds(8) == 7);
  CHECK(tournament_rounds(9) == 9);
}

TEST_CASE("without measurements each node tries all others, in both directions") {
  const auto plans = link_plans(some_nodes(3), {.secret = std::string(32, 'a')});
  REQUIRE(plans.size() == 3);
  CHECK(plans[1].targets.size() == 2);
  CHECK(plans[1].targets[0].address == "10.0.0.3");
  CHECK(plans[1].targets[0].ports == std::vector<std::uint16_t>{40'002});
  CHECK(plans[1].ports == std::vector<std::uint16_t>{40'001});
  CHECK(plans[1].incoming == 2);
  CHECK_FALSE(plans[0].starts_slots);
  const auto many = link_plans(some_nodes(300), {.secret = std::string(32, 'a')});
  CHECK(many[7].targets.size() == 128);
  CHECK(many[7].incoming == 128);
}

TEST_CASE("with measurements each pair has one connection, with a slot of its own for both") {
  const int count = 8;
  const auto plans = link_plans(some_nodes(count),
                                {.secret = "", .slot = 500ms, .rounds = tournament_rounds(count)});
  std::map<int, std::set<std::string>> busy;
  int pairs = 0, incoming = 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    CHECK(plans[i].starts_slots == (i == 0));
    incoming += plans[i].incoming;
    for (const agent::LinkTarget& target : plans[i].targets) {
      ++pairs;
      CHECK(busy[target.slot].insert("n" + std::to_string(i)).second);
      CHECK(busy[target.slot].insert(target.name).second);
    }
  }
  CHECK(pairs == count * (count - 1) / 2);
  CHECK(incoming == pairs);
}

TEST_CASE("with less time the first rounds alone are measured, and the first node meets all") {
  const auto plans = link_plans(some_nodes(8), {.secret = "", .slot = 500ms, .rounds = 2});
  CHECK(plans[0].targets.size() == 7);
  std::size_t pairs = 0;
  for (std::size_t i = 1; i < plans.size(); ++i)
    for (const agent::LinkTarget& target : plans[i].targets) {
      CHECK(target.slot < 2);
      ++pairs;
    }
  CHECK(pairs == 6);  // Two rounds of four pairs, without those of the first node.
}

TEST_CASE("the orders and answers survive their way over the network") {
  const auto plans =
      link_plans(some_nodes(3), {.secret = std::string(32, 'f'), .slot = 300ms, .rounds = 3});
  const agent::LinkPlan read = agent::parse_link_plan(to_text(plans[0]));
  CHECK(read.targets.size() == 2);
  CHECK(read.targets[1].ports == plans[0].targets[1].ports);
  CHECK(read.targets[1].slot == plans[0].targets[1].slot);
  CHECK(read.slot == 300ms);
  CHECK(read.starts_slots);
  const EqualLinks lab(3);
  const agent::LinkAnswer answer = agent::parse_link_answer(to_text(lab.answer(0)));
  CHECK(answer.links.at(1).round_trip == 50us);
  CHECK(answer.links.at(1).sent == kGigabyteEach);
  CHECK(answer.interfaces.at(0).mtu == 1'500);
}

TEST_CASE("connections that work, and equal interfaces, have no findings") {
  CHECK(EqualLinks(4).connections().empty());
  CHECK(EqualLinks(4).speeds().empty());
}

TEST_CASE("a connection that fails is named by both nodes, and a node without any by itself") {
  EqualLinks lab(4);
  lab.with(1, [](agent::LinkAnswer& answer) { answer.links[0].failure = "no answer within 5 s"; });
  const auto one = lab.connections();
  REQUIRE(one.size() == 1);
  CHECK(one[0].found == "n1 cannot connect to n2: no answer within 5 s");
  CHECK(one[0].nodes == Names{"n1", "n2"});
  CHECK(one[0].severity == Severity::error);
  EqualLinks cut(4);
  for (std::size_t node = 0; node < 3; ++node)
    cut.with(node, [](agent::LinkAnswer& answer) { answer.links.back().failure = "no route"; });
  const auto all = cut.connections();
  REQUIRE(all.size() == 1);
  CHECK(all[0].nodes == Names{"n3"});
}

TEST_CASE("of two nodes without a connection none is blamed while each reaches a third") {
  const auto fail = [](EqualLinks& lab, std::size_t from, std::string_view to) {
    lab.with(from, [&](agent::LinkAnswer& answer) {
      for (auto& link : answer.links)
        if (link.name == to) link.failure = "no answer within 5 s";
    });
  };
  // Without measurements each node tries all others.
  const auto both_ways = [] {
    EqualLinks lab(3);
    for (std::size_t node = 1; node < 3; ++node)
      lab.with(node, [&](agent::LinkAnswer& answer) {
        for (std::size_t other = 0; other < node; ++other)
          answer.links.push_back({.name = "n" + std::to_string(other), .failure = ""});
      });
    return lab;
  };
  EqualLinks pair = both_ways();
  fail(pair, 1, "n2");
  fail(pair, 2, "n1");
  CHECK(pair.connections().size() == 2);
  CHECK(pair.connections()[0].found == "n1 cannot connect to n2: no answer within 5 s");
  EqualLinks inward = both_ways();
  fail(inward, 1, "n2");
  fail(inward, 0, "n2");
  REQUIRE(inward.connections().size() == 1);
  CHECK(inward.connections()[0].nodes == Names{"n2"});
  CHECK(inward.connections()[0].found == "no other node can connect to it: no answer within 5 s");
  EqualLinks outward = both_ways();
  fail(outward, 2, "n0");
  fail(outward, 2, "n1");
  CHECK(outward.connections().at(0).found ==
        "it can connect to no other node: no answer within 5 s");
}

TEST_CASE("large packets that get lost are a matter of the MTU") {
  EqualLinks lab(2);
  lab.with(0, [](agent::LinkAnswer& answer) {
    answer.links[0].failure = "small packets arrive, and large ones do not within 3 s";
  });
  CHECK(lab.connections().at(0).remedy.find("MTU") != std::string::npos);
}

TEST_CASE("another MTU is a warning") {
  EqualLinks lab(3);
  lab.with(2, [](agent::LinkAnswer& answer) { answer.interfaces[0].mtu = 9'000; });
  const auto findings = lab.connections();
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].check == "mtu");
  CHECK(findings[0].found == "eth0 has MTU 9000, but 1500 on other nodes");
}

TEST_CASE("a node that does not answer is an error, and its connections are not counted") {
  EqualLinks lab(3);
  lab.answers[1] = Error(ErrorKind::timeout, "no answer");
  const auto findings = lab.connections();
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].nodes == Names{"n1"});
  CHECK(pairs_of(lab.nodes, lab.answers).size() == 2);
}

TEST_CASE("a slow direction of one pair is named with both nodes") {
  EqualLinks lab(4);
  lab.with(1, [](agent::LinkAnswer& answer) { answer.links[1].sent = kGigabyteEach / 10; });
  const auto findings = lab.speeds();
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].check == "bandwidth");
  CHECK(findings[0].nodes == Names{"n1", "n3"});
  CHECK(findings[0].found == "n1 sends to n3 at 0.80 Gbit/s, and 8.00 Gbit/s is usual here");
}

TEST_CASE("a node that is slow with all others is named once, with what its interface shows") {
  EqualLinks lab(4);
  for (std::size_t i = 0; i < 4; ++i)
    lab.with(i, [&](agent::LinkAnswer& answer) {
      answer.interfaces[0].megabits = i == 2 ? 1'000 : 10'000;
      for (agent::LinkResult& link : answer.links)
        if (i == 2 || link.name == "n2") {
          (i == 2 ? link.sent : link.received) = kGigabyteEach / 8;
        }
    });
  const auto findings = lab.speeds();
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].nodes == Names{"n2"});
  CHECK(findings[0].found.starts_with("it sends at 1.00 Gbit/s at most"));
  CHECK(findings[0].found.find("eth0 of 10.0.0.3/24 runs at 1000 Mbit/s, others at 10000") !=
        std::string::npos);
}

TEST_CASE("all pairs far below the speed of their links are a finding without a node") {
  EqualLinks lab(2);
  for (std::size_t i = 0; i < 2; ++i)
    lab.with(i, [](agent::LinkAnswer& answer) { answer.interfaces[0].megabits = 100'000; });
  const auto findings = lab.speeds();
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].nodes.empty());
}

TEST_CASE("a round trip far above the others is a finding, and a little one is not") {
  EqualLinks lab(4);
  lab.with(0, [](agent::LinkAnswer& answer) { answer.links[0].round_trip = 160us; });
  CHECK(lab.speeds().empty());
  lab.with(0, [](agent::LinkAnswer& answer) { answer.links[0].round_trip = 2ms; });
  const auto findings = lab.speeds();
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].check == "latency");
  CHECK(findings[0].nodes == Names{"n0", "n1"});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
