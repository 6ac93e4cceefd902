// The edges of a step of gossip, from sender to receiver, and the weights with which numbers are
// mixed. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fastgpu::comm {

/// A directed graph. Its members are numbered from 0; `to` has the receivers of each member's
/// numbers, in order and without the member itself.
struct GossipGraph {
  std::vector<std::vector<int>> to;

  int size() const noexcept { return static_cast<int>(to.size()); }

  friend bool operator==(const GossipGraph&, const GossipGraph&) = default;
};

/// Returns a graph without arcs.
GossipGraph empty_graph(int members);

/// Adds an arc once; ignores one from a member to itself.
void add_arc(GossipGraph& graph, int from, int to);
/// Adds an arc in each direction.
void add_edge(GossipGraph& graph, int one, int other);

/// Returns true if every arc has one in the other direction.
bool is_symmetric(const GossipGraph& graph);

/// Returns the arcs of all graphs, which have equally many members.
GossipGraph united(std::span<const GossipGraph> graphs);

/// Returns the largest sets of members that reach each other, each in order, by their first
/// members: one set if numbers of every member reach all others.
std::vector<std::vector<int>> components(const GossipGraph& graph);

/// Returns "0, 1, 2 | 3, 4", shortened if there are many.
std::string describe(const std::vector<std::vector<int>>& components);

/// The properties of weights, on which the methods of mixing depend. Each has those of the ones
/// that follow.
enum class WeightsKind : std::uint8_t {
  symmetric,          ///< Two members give each other's numbers the same weight.
  doubly_stochastic,  ///< The weights that a member gives add up to 1, and so do those it gets.
  column_stochastic   ///< The weights that a member's numbers get add up to 1.
};

/// The weights of one member in a step.
struct MixingRow {
  struct From {
    int member = 0;
    double weight = 0;

    friend bool operator==(const From&, const From&) = default;
  };

  double own = 1;            ///< The weight of the member's own numbers.
  std::vector<From> from{};  ///< The members whose numbers it adds, in order.
  std::vector<int> to{};     ///< The members that add its numbers, in order.
};

/// The weights of all members in a step.
struct Weights {
  WeightsKind kind = WeightsKind::symmetric;
  std::vector<MixingRow> rows;
};

/// Returns the weights of Metropolis and Hastings for a symmetric graph, equal ones if each member
/// sends to as many as it receives from, and otherwise those of a sender: 1 / (receivers + 1).
Weights weights_of(const GossipGraph& graph);

/// Returns the largest deviation from the sums that the kind of the weights promises, and from
/// weights that are not negative.
double deviation_of(const Weights& weights);

/// Returns the factor by which disagreement shrinks in a step, between 0 and 0.999: measured on
/// numbers at random that are mixed by `round` again and again.
double contraction_of(std::span<const Weights> round);

/// Returns the lag of plain averaging with these weights, which are symmetric: if each member adds
/// the same update in every step, the part of these updates, in steps, that others do not have yet.
double lag_of(const Weights& weights);

}  // namespace fastgpu::comm
