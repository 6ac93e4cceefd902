#include "launcher/checks/links.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "base/counted.hpp"
#include "base/join.hpp"

namespace fastgpu::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using namespace std::chrono_literals;

constexpr std::size_t kMostTargets = 128;
constexpr milliseconds kConnectLimit = 5s;

const agent::LinkInterface* interface_at(const agent::LinkAnswer& answer,
                                         const std::string& address) {
  for (const agent::LinkInterface& own : answer.interfaces)
    if (own.address.substr(0, own.address.find('/')) == address) return &own;
  return nullptr;
}

/// Returns a node's interface to the others; null if it is unknown.
const agent::LinkInterface* interface_of(std::span<const LinkNode> nodes,
                                         const LinkAnswers& answers, const NodeName& name) {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].name == name && answers[i].ok())
      return interface_at(answers[i].value(), nodes[i].address);
  return nullptr;
}

/// A node that all failed connections have in common, and which of its connections fail.
struct CommonNode {
  std::string name;
  std::string what;
};

/// The connections of one node that were tried, and those that failed, in each direction.
struct Tally {
  int tried_to = 0, failed_to = 0;
  int tried_from = 0, failed_from = 0;
};

/// Returns which connections of a node fail, if it is all of them or all in one direction, and
/// these are several; else an empty text.
std::string what_fails(const Tally& tally) {
  if (tally.failed_to + tally.failed_from < 2) return "";
  const bool is_all_to = tally.failed_to == tally.tried_to;
  const bool is_all_from = tally.failed_from == tally.tried_from;
  if (is_all_to && is_all_from) return "no connection with any other node";
  if (is_all_to && tally.failed_from == 0) return "no other node can connect to it";
  if (is_all_from && tally.failed_to == 0) return "it can connect to no other node";
  return "";
}

/// Returns the node whose connections, and no others, have failed in this way; absent if there is
/// none, as between two nodes.
std::optional<CommonNode> common_node(std::span<const Pair> pairs, const std::string& failure) {
  std::map<std::string, Tally> tallies;
  std::map<std::string, std::set<std::string>> others;
  int failed = 0;
  for (const Pair& pair : pairs) {
    const bool fails = pair.failure == failure;
    failed += fails ? 1 : 0;
    Tally& from = tallies[pair.from.value];
    Tally& to = tallies[pair.to.value];
    ++from.tried_from;
    ++to.tried_to;
    if (!fails) continue;
    ++from.failed_from;
    ++to.failed_to;
    others[pair.from.value].insert(pair.to.value);
    others[pair.to.value].insert(pair.from.value);
  }
  for (const auto& [name, tally] : tallies) {
    const bool has_all = tally.failed_to + tally.failed_from == failed;
    const std::string what = has_all ? what_fails(tally) : "";
    if (!what.empty() && others[name].size() > 1) return CommonNode{name, what};
  }
  return std::nullopt;
}

template <class Number>
Number median(std::vector<Number> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::string rate_text(std::int64_t bytes_per_second) {
  std::array<char, 32> text{};
  const double gigabits = static_cast<double>(bytes_per_second) * 8 / 1e9;
  std::snprintf(text.data(), text.size(), gigabits < 0.1 ? "%.3f Gbit/s" : "%.2f Gbit/s", gigabits);
  return text.data();
}

std::string microseconds(nanoseconds time) {
  return std::to_string(time.count() / 1'000) + " us";
}

/// Returns what the interfaces of two nodes show as a reason for a slow connection; empty if they
/// show none.
std::string reason_of(const agent::LinkInterface* a, const agent::LinkInterface* b,
                      int usual_megabits, int usual_mtu) {
  std::vector<std::string> reasons;
  for (const agent::LinkInterface* own : {a, b}) {
    if (own == nullptr) continue;
    if (own->megabits > 0 && own->megabits < usual_megabits)
      reasons.push_back(own->name + " of " + own->address + " runs at " +
                        std::to_string(own->megabits) + " Mbit/s, others at " +
                        std::to_string(usual_megabits));
    if (own->mtu > 0 && own->mtu < usual_mtu)
      reasons.push_back(own->name + " of " + own->address + " has MTU " + std::to_string(own->mtu) +
                        ", others " + std::to_string(usual_mtu));
  }
  return joined(reasons);
}

struct UsualInterface {
  int megabits = 0;
  int mtu = 0;
};

UsualInterface usual_interface(std::span<const LinkNode> nodes, const LinkAnswers& answers) {
  std::map<int, int> speeds, mtus;
  for (const LinkNode& node : nodes)
    if (const auto* own = interface_of(nodes, answers, node.name)) {
      ++speeds[own->megabits];
      ++mtus[own->mtu];
    }
  const auto most = [](const std::map<int, int>& times) {
    int best = 0, count = 0;
    for (const auto& [value, number] : times)
      if (number >= count) {
        best = value;
        count = number;
      }
    return best;
  };
  return {.megabits = most(speeds), .mtu = most(mtus)};
}

/// A slow direction of a pair.
struct SlowLink {
  std::string from, to;
  std::int64_t rate = 0;
};

}  // namespace

int tournament_rounds(int nodes) noexcept {
  return nodes < 2 ? 0 : nodes - 1 + nodes % 2;
}

int tournament_round(int a, int b, int nodes) noexcept {
  const int rounds = tournament_rounds(nodes);
  if (rounds == 0) return 0;
  const int first = std::min(a, b), last = std::max(a, b);
  // The last of an even number stays at its place, and the others turn around it.
  return last == rounds ? 2 * first % rounds : (first + last) % rounds;
}

std::vector<agent::LinkPlan> link_plans(std::span<const LinkNode> nodes,
                                        const LinkProbeRequest& request) {
  const bool measures = request.slot > 0ms;
  const auto count = static_cast<int>(nodes.size());
  std::vector<agent::LinkPlan> plans;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    plans.push_back({.secret = request.secret,
                     .ports = nodes[i].ports,
                     .targets = {},
                     .incoming = 0,
                     .connect_timeout = kConnectLimit,
                     .slot = request.slot,
                     .slots = measures ? request.rounds : 0,
                     .starts_slots = measures && i == 0});
  const auto connect = [&](std::size_t from, std::size_t to, int slot) {
    plans[from].targets.push_back({.name = nodes[to].name.value,
                                   .address = nodes[to].address,
                                   .ports = nodes[to].ports,
                                   .slot = slot});
    ++plans[to].incoming;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (measures) {
      for (std::size_t other = i + 1; other < nodes.size(); ++other) {
        const int round = tournament_round(static_cast<int>(i), static_cast<int>(other), count);
        // The first node connects to all, because it starts the slots.
        if (round < request.rounds || i == 0) connect(i, other, std::min(round, request.rounds));
      }
      continue;
    }
    for (std::size_t k = 1; k < nodes.size() && k <= kMostTargets; ++k)
      connect(i, (i + k) % nodes.size(), 0);
  }
  return plans;
}

milliseconds link_limit(const LinkProbeRequest& request) noexcept {
  return kConnectLimit + 10s + request.slot * (request.rounds + 5);
}

std::vector<Pair> pairs_of(std::span<const LinkNode> nodes, const LinkAnswers& answers) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!answers[i].ok()) continue;
    for (const agent::LinkResult& link : answers[i].value().links)
      pairs.push_back({.from = nodes[i].name,
                       .to = {link.name},
                       .failure = link.failure,
                       .round_trip = link.round_trip,
                       .forward = link.sent,
                       .backward = link.received});
  }
  return pairs;
}

namespace {

std::vector<Finding> untried_findings(std::span<const LinkNode> nodes, const LinkAnswers& answers) {
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (!answers[i].ok())
      findings.push_back({.check = "connections",
                          .severity = Severity::error,
                          .nodes = {nodes[i].name.value},
                          .found = "not tried: " + std::string(answers[i].error().what()),
                          .why = "ranks connect to each other",
                          .remedy = "repeat the check"});
  return findings;
}

/// Returns the findings on the pairs whose connection has failed in one way.
std::vector<Finding> failure_findings(std::span<const Pair> pairs, const std::string& failure) {
  constexpr std::size_t kMostLines = 16;
  std::vector<Finding> findings;
  const bool is_size = failure.find("large ones") != failure.npos;
  const auto add = [&](std::vector<std::string> nodes, const std::string& what) {
    findings.push_back(
        {.check = "connections",
         .severity = Severity::error,
         .nodes = std::move(nodes),
         .found = what + ": " + failure,
         .why = "ranks need every port between the nodes",
         .remedy = is_size ? "give all interfaces and switches one MTU, and let ICMP pass"
                           : "open all TCP ports between the nodes: in their firewalls, and in the "
                             "security group or switch"});
  };
  if (const auto common = common_node(pairs, failure)) {
    add({common->name}, common->what);
    return findings;
  }
  std::size_t failed = 0;
  for (const Pair& pair : pairs)
    if (pair.failure == failure && ++failed <= kMostLines)
      add({pair.from.value, pair.to.value},
          pair.from.value + " cannot connect to " + pair.to.value);
  if (failed > kMostLines) add({}, counted(failed - kMostLines, "more connection") + " failed");
  return findings;
}

std::vector<Finding> mtu_findings(std::span<const LinkNode> nodes, const LinkAnswers& answers) {
  std::vector<Finding> findings;
  const UsualInterface usual = usual_interface(nodes, answers);
  for (const LinkNode& node : nodes) {
    const auto* own = interface_of(nodes, answers, node.name);
    if (own == nullptr || own->mtu == usual.mtu) continue;
    findings.push_back(
        {.check = "mtu",
         .severity = Severity::warning,
         .nodes = {node.name.value},
         .found = own->name + " has MTU " + std::to_string(own->mtu) + ", but " +
                  std::to_string(usual.mtu) + " on other nodes",
         .why = "packets that are too large for one side may be dropped",
         .remedy = "ip link set " + own->name + " mtu " + std::to_string(usual.mtu)});
  }
  return findings;
}

void append(std::vector<Finding>& all, std::vector<Finding> more) {
  std::ranges::move(more, std::back_inserter(all));
}

std::vector<SlowLink> directions_of(std::span<const Pair> pairs) {
  std::vector<SlowLink> directions;
  for (const Pair& pair : pairs) {
    if (pair.forward > 0) directions.push_back({pair.from.value, pair.to.value, pair.forward});
    if (pair.backward > 0) directions.push_back({pair.to.value, pair.from.value, pair.backward});
  }
  return directions;
}

/// The usual rate and the usual interface of these nodes.
struct Usual {
  std::int64_t rate = 0;
  UsualInterface interface {};
};

/// Finds the slow directions among all. A node whose connections are all slow in one direction is
/// named once.
std::vector<Finding> slow_findings(std::span<const LinkNode> nodes, const LinkAnswers& answers,
                                   std::span<const SlowLink> directions, const Usual& usual) {
  std::vector<Finding> findings;
  const auto add = [&](std::vector<std::string> names, const std::string& what) {
    const auto* const second =
        names.size() > 1 ? interface_of(nodes, answers, {names.back()}) : nullptr;
    const auto reason = reason_of(interface_of(nodes, answers, {names.front()}), second,
                                  usual.interface.megabits, usual.interface.mtu);
    findings.push_back(
        {.check = "bandwidth",
         .severity = Severity::warning,
         .nodes = std::move(names),
         .found = what + ", and " + rate_text(usual.rate) + " is usual here" +
                  (reason.empty() ? "" : ": " + reason),
         .why = "the slowest connection limits a job",
         .remedy = "look at the cable and the port of the switch (ethtool), and at other traffic"});
  };
  std::vector<SlowLink> slow;
  std::ranges::copy_if(directions, std::back_inserter(slow),
                       [&](const SlowLink& one) { return one.rate < usual.rate / 2; });
  std::set<std::pair<std::string, std::string>> named;
  for (const LinkNode& node : nodes) {
    for (const bool sends : {true, false}) {
      const auto is_of_node = [&](const SlowLink& one) {
        return (sends ? one.from : one.to) == node.name.value;
      };
      const auto all = std::ranges::count_if(directions, is_of_node);
      if (all < 2 || std::ranges::count_if(slow, is_of_node) < all) continue;
      std::int64_t best = 0;
      for (const SlowLink& one : slow) {
        if (!is_of_node(one)) continue;
        best = std::max(best, one.rate);
        named.insert({one.from, one.to});
      }
      add({node.name.value},
          std::string(sends ? "it sends" : "it receives") + " at " + rate_text(best) + " at most");
    }
  }
  for (const SlowLink& one : slow)
    if (!named.contains({one.from, one.to}))
      add({one.from, one.to}, one.from + " sends to " + one.to + " at " + rate_text(one.rate));
  return findings;
}

std::vector<Finding> latency_findings(std::span<const Pair> pairs) {
  std::vector<Finding> findings;
  std::vector<nanoseconds> trips;
  for (const Pair& pair : pairs)
    if (pair.failure.empty()) trips.push_back(pair.round_trip);
  if (trips.empty()) return findings;
  const nanoseconds usual = median(trips);
  for (const Pair& pair : pairs)
    if (pair.failure.empty() && pair.round_trip > 3 * usual && pair.round_trip > usual + 200us)
      findings.push_back({.check = "latency",
                          .severity = Severity::warning,
                          .nodes = {pair.from.value, pair.to.value},
                          .found = microseconds(pair.round_trip) + " for a round trip, and " +
                                   microseconds(usual) + " is usual here",
                          .why = "small messages wait for it",
                          .remedy = "put the nodes in one zone or placement group, and look at "
                                    "what else runs there"});
  return findings;
}

}  // namespace

std::vector<Finding> connection_findings(std::span<const LinkNode> nodes,
                                         const LinkAnswers& answers) {
  std::vector<Finding> findings = untried_findings(nodes, answers);
  const auto pairs = pairs_of(nodes, answers);
  std::set<std::string> failures;
  for (const Pair& pair : pairs)
    if (!pair.failure.empty()) failures.insert(pair.failure);
  for (const std::string& failure : failures)
    append(findings, failure_findings(pairs, failure));
  append(findings, mtu_findings(nodes, answers));
  return findings;
}

std::vector<Finding> speed_findings(std::span<const LinkNode> nodes, const LinkAnswers& answers) {
  const auto pairs = pairs_of(nodes, answers);
  const std::vector<SlowLink> directions = directions_of(pairs);
  if (directions.empty()) return {};
  std::vector<std::int64_t> rates;
  for (const SlowLink& direction : directions)
    rates.push_back(direction.rate);
  const Usual usual{.rate = median(rates), .interface = usual_interface(nodes, answers)};
  std::vector<Finding> findings = slow_findings(nodes, answers, directions, usual);
  const int megabits = usual.interface.megabits;
  if (megabits > 0 && usual.rate * 8 < std::int64_t{megabits} * 1'000'000 / 2)
    findings.push_back({.check = "bandwidth",
                        .severity = Severity::warning,
                        .nodes = {},
                        .found = rate_text(usual.rate) + " between most nodes, of links with " +
                                 std::to_string(megabits) + " Mbit/s",
                        .why = "the network or the processors lose more than half",
                        .remedy = "compare with several connections: fastgpu bench comm"});
  append(findings, latency_findings(pairs));
  return findings;
}

}  // namespace fastgpu::launcher
