// The part of one rank in gossip: who its neighbours are, and which numbers it mixes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/common/rank.hpp"
#include "comm/gossip/gossip_settings.hpp"
#include "comm/gossip/graph.hpp"
#include "comm/schedule/topology.hpp"

namespace fastgpu::comm {

/// The part of one rank. If several nodes have the same number of ranks, several each, nodes are
/// the members: the ranks of a node average exactly, and each mixes one slice of the numbers with
/// the ranks of the same place in other nodes. Otherwise each rank is a member.
class GossipPlan {
 public:
  /// Throws ErrorKind::usage for a topology that does not connect the members, and for a codec that
  /// does not go with it.
  GossipPlan(const GossipSettings& settings, const Topology& topology, Rank rank);

  MixMethod method() const noexcept { return method_; }
  int members() const noexcept { return members_; }
  int member() const noexcept { return member_; }          ///< Returns this rank's.
  std::size_t places() const noexcept { return places_; }  ///< Returns the ranks of a member.
  std::size_t place() const noexcept { return place_; }    ///< Returns this rank's in its node.

  /// Returns this member's weights in a step.
  MixingRow row_at(std::uint64_t step) const;

  /// Returns the factor by which disagreement shrinks in a step of plain averaging.
  double contraction() const noexcept { return contraction_; }

  /// Returns the lag of plain averaging, for MixMethod::difference; 0 for others.
  double lag() const noexcept { return lag_; }

 private:
  GossipTopology topology_;
  MixMethod method_ = MixMethod::averaging;
  int members_ = 1;
  int member_ = 0;
  std::size_t places_ = 1;
  std::size_t place_ = 0;
  double contraction_ = 0;
  double lag_ = 0;
  std::vector<MixingRow> rows_;  ///< The rows of this member, by step; unused if graphs change.
};

/// Returns the weights of a step, and checks them: ErrorKind::internal if they do not add up.
Weights checked_weights(const GossipTopology& topology, int members, std::uint64_t step);

}  // namespace fastgpu::comm
