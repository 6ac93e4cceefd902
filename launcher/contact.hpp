// How long the nodes of a job may be silent. Pure.
#pragma once

#include <chrono>

namespace fastgpu::launcher {

/// The time without contact after which a node is lost. It is longer than the lease of a job, so
/// that a machine whose network is gone for a while still sees the end of its job.
inline constexpr std::chrono::milliseconds kLostAfter{45'000};

/// The contact with a node whose connection is broken.
struct NodeContact {
  std::chrono::milliseconds silence{0};  ///< The time since the last byte from it.
  /// All ranks of the other nodes have ended, and some of them by an order that is not ours, as
  /// they do when the first node is gone.
  bool are_others_ended = false;
};

/// Returns true if the node is lost: after `patience`, or sooner if the other nodes miss it, too.
bool is_lost(const NodeContact& contact, std::chrono::milliseconds patience);

/// Returns the limit for one more connection to a node that has been silent for this long. It
/// grows, because a node whose cores all compute answers late.
std::chrono::milliseconds connect_limit(std::chrono::milliseconds silence);

}  // namespace fastgpu::launcher
