#include "comm/gossip/graph.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/gossip/chance.hpp"

namespace fastgpu::comm {
namespace {

std::size_t place(int member) noexcept {
  return static_cast<std::size_t>(member);
}

GossipGraph reversed(const GossipGraph& graph) {
  GossipGraph back = empty_graph(graph.size());
  for (int from = 0; from < graph.size(); ++from)
    for (const int to : graph.to[place(from)])
      back.to[place(to)].push_back(from);
  return back;
}

/// Returns the members that `start` reaches, itself included.
std::vector<bool> reached_from(const GossipGraph& graph, int start) {
  std::vector<bool> seen(graph.to.size());
  std::vector<int> left{start};
  seen[place(start)] = true;
  while (!left.empty()) {
    const int at = left.back();
    left.pop_back();
    for (const int next : graph.to[place(at)]) {
      if (seen[place(next)]) continue;
      seen[place(next)] = true;
      left.push_back(next);
    }
  }
  return seen;
}

/// Mixes one number of each member. Numbers are divided by masses where those change.
void mix_once(const Weights& weights, std::vector<double>& numbers, std::vector<double>& masses) {
  const auto mixed = [&](const std::vector<double>& old) {
    std::vector<double> result(old.size());
    for (std::size_t i = 0; i < old.size(); ++i) {
      result[i] = weights.rows[i].own * old[i];
      for (const auto& [member, weight] : weights.rows[i].from)
        result[i] += weight * old[place(member)];
    }
    return result;
  };
  numbers = mixed(numbers);
  masses = mixed(masses);
}

double disagreement(const std::vector<double>& numbers, const std::vector<double>& masses) {
  double mean = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    mean += numbers[i] / masses[i] / static_cast<double>(numbers.size());
  double sum = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double off = numbers[i] / masses[i] - mean;
    sum += off * off;
  }
  return std::sqrt(sum);
}

}  // namespace

GossipGraph empty_graph(int members) {
  return {std::vector<std::vector<int>>(place(members))};
}

void add_arc(GossipGraph& graph, int from, int to) {
  if (from == to) return;
  auto& receivers = graph.to[place(from)];
  const auto at = std::ranges::lower_bound(receivers, to);
  if (at == receivers.end() || *at != to) receivers.insert(at, to);
}

void add_edge(GossipGraph& graph, int one, int other) {
  add_arc(graph, one, other);
  add_arc(graph, other, one);
}

bool is_symmetric(const GossipGraph& graph) {
  return reversed(graph) == graph;
}

GossipGraph united(std::span<const GossipGraph> graphs) {
  GossipGraph all = graphs.front();
  for (const GossipGraph& graph : graphs.subspan(1))
    for (int from = 0; from < graph.size(); ++from)
      for (const int to : graph.to[place(from)])
        add_arc(all, from, to);
  return all;
}

std::vector<std::vector<int>> components(const GossipGraph& graph) {
  const GossipGraph back = reversed(graph);
  std::vector<std::vector<int>> found;
  std::vector<bool> is_taken(graph.to.size());
  for (int start = 0; start < graph.size(); ++start) {
    if (is_taken[place(start)]) continue;
    const std::vector<bool> after = reached_from(graph, start);
    const std::vector<bool> before = reached_from(back, start);
    auto& component = found.emplace_back();
    for (std::size_t member = 0; member < after.size(); ++member) {
      if (!after[member] || !before[member]) continue;
      is_taken[member] = true;
      component.push_back(static_cast<int>(member));
    }
  }
  return found;
}

std::string describe(const std::vector<std::vector<int>>& components) {
  constexpr std::size_t kMostSets = 4;
  constexpr std::size_t kMostMembers = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(components.size(), kMostSets); ++i) {
    const std::vector<int>& component = components[i];
    if (i > 0) text += " | ";
    for (std::size_t j = 0; j < std::min(component.size(), kMostMembers); ++j)
      text += (j > 0 ? ", " : "") + std::to_string(component[j]);
    if (component.size() > kMostMembers)
      text += " and " + std::to_string(component.size() - kMostMembers) + " more";
  }
  if (components.size() > kMostSets)
    text += " | " + std::to_string(components.size() - kMostSets) + " more";
  return text;
}

Weights weights_of(const GossipGraph& graph) {
  const GossipGraph back = reversed(graph);
  const bool is_both_ways = back == graph;
  std::size_t most = 0;
  bool is_balanced = true;
  for (std::size_t i = 0; i < graph.to.size(); ++i) {
    most = std::max(most, graph.to[i].size());
    is_balanced = is_balanced && graph.to[i].size() == back.to[i].size();
  }
  Weights weights;
  weights.kind = is_both_ways  ? WeightsKind::symmetric
                 : is_balanced ? WeightsKind::doubly_stochastic
                               : WeightsKind::column_stochastic;
  for (std::size_t i = 0; i < graph.to.size(); ++i) {
    MixingRow row{.to = graph.to[i]};
    for (const int sender : back.to[i]) {
      const std::size_t theirs = graph.to[place(sender)].size();
      const std::size_t shares = is_both_ways  ? std::max(graph.to[i].size(), theirs)
                                 : is_balanced ? most
                                               : theirs;
      row.from.push_back({sender, 1.0 / static_cast<double>(shares + 1)});
    }
    if (weights.kind == WeightsKind::column_stochastic) {
      row.own = 1.0 / static_cast<double>(graph.to[i].size() + 1);
    } else {
      for (const auto& each : row.from)
        row.own -= each.weight;
    }
    weights.rows.push_back(std::move(row));
  }
  return weights;
}

double deviation_of(const Weights& weights) {
  std::vector<double> given(weights.rows.size());
  double worst = 0;
  for (std::size_t i = 0; i < weights.rows.size(); ++i) {
    const MixingRow& row = weights.rows[i];
    double got = row.own;
    given[i] += row.own;
    worst = std::max(worst, -row.own);
    for (const auto& [member, weight] : row.from) {
      got += weight;
      given[place(member)] += weight;
      worst = std::max(worst, -weight);
      if (weights.kind != WeightsKind::symmetric) continue;
      const auto& theirs = weights.rows[place(member)].from;
      const auto back = std::ranges::find(theirs, static_cast<int>(i), &MixingRow::From::member);
      worst = std::max(worst, std::abs(weight - (back == theirs.end() ? 0 : back->weight)));
    }
    if (weights.kind != WeightsKind::column_stochastic) worst = std::max(worst, std::abs(got - 1));
  }
  for (const double sum : given)
    worst = std::max(worst, std::abs(sum - 1));
  return worst;
}

double contraction_of(std::span<const Weights> round) {
  constexpr std::size_t kMostSteps = 512;
  constexpr double kSlowest = 0.999;
  constexpr double kNothing = 1e-10;
  const std::size_t members = round.front().rows.size();
  if (members < 2) return 0;
  std::vector<double> numbers(members);
  std::vector<double> masses(members, 1.0);
  Chance chance(members);
  for (double& number : numbers)
    number = chance.number();
  std::vector<double> left{disagreement(numbers, masses)};  // After each round.
  const double least = kNothing * left.front();
  for (std::size_t step = 0; step < kMostSteps && left.back() > least; step += round.size()) {
    for (const Weights& weights : round)
      mix_once(weights, numbers, masses);
    left.push_back(std::max(disagreement(numbers, masses), least));
  }
  const std::size_t half = (left.size() - 1) / 2;  // The beginning is quicker than the end.
  const auto steps = static_cast<double>((left.size() - 1 - half) * round.size());
  return std::min(std::pow(left.back() / left[half], 1 / steps), kSlowest);
}

/// Sums what is left of a member's own number in all later steps, for some members.
double lag_of(const Weights& weights) {
  constexpr std::size_t kMostSteps = 512;
  constexpr std::size_t kMostMembers = 64;
  constexpr double kNothing = 1e-6;
  const std::size_t members = weights.rows.size();
  if (members < 2) return 0;
  const std::size_t asked = std::min(members, kMostMembers);
  const double mean = 1 / static_cast<double>(members);
  double sum = 0;
  for (std::size_t i = 0; i < asked; ++i) {
    const std::size_t member = i * members / asked;
    std::vector<double> numbers(members);
    std::vector<double> masses(members, 1.0);
    numbers[member] = 1;
    const double least = kNothing * disagreement(numbers, masses);
    for (std::size_t step = 0; step < kMostSteps && disagreement(numbers, masses) > least; ++step) {
      mix_once(weights, numbers, masses);
      sum += numbers[member] - mean;
    }
  }
  return sum / static_cast<double>(asked) / (1 - mean);
}

}  // namespace fastgpu::comm
