// The report of one rank on a step of gossip.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/gossip/drift_guard.hpp"

namespace fastgpu::comm {

/// The knowledge of one rank about a step that has ended.
struct GossipReport {
  std::uint64_t step = 0;  ///< Counted from 0.
  bool is_exact = false;   ///< All ranks have the average of all now.
  /// The bytes that this rank has sent to other members in this step; what ranks of one node send
  /// each other is not among them.
  std::uint64_t bytes = 0;
  std::size_t neighbours = 0;  ///< The members that it has sent to; 0 in an exact step.
  /// The distance of a rank's parameters from the average over all ranks, measured last.
  double distance = 0;
  /// The step before which it was measured; 0 for none.
  std::uint64_t measured = 0;
  GuardRung rung{};             ///< The way of mixing.
  std::size_t guard_level = 0;  ///< 0: that of the settings; more: the guard has intervened.
  GuardAction action = GuardAction::none;  ///< The guard's action before this step.
};

}  // namespace fastgpu::comm
