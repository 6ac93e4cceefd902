// The order of gradients in which buckets are planned, the same on all ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/fusion/gradient_table.hpp"

namespace fastgpu::comm {

/// An order that begins as that of a saved state, or as the initial one, and becomes that in which
/// gradients were ready on rank 0 in its first step. Not thread-safe.
class PlannedOrder {
 public:
  using Names = std::optional<std::vector<std::string>>;  ///< Absent: no order.

  /// Borrows the table, in which all gradients are before begin().
  explicit PlannedOrder(const GradientTable& table) : table_(table) {}

  /// Keeps the order of a saved state for begin(): further gradients may be registered until then.
  void load(const Names& names) { loaded_ = names; }
  /// Returns a fingerprint of the loaded order, to compare it with those of other ranks.
  std::uint64_t loaded_fingerprint() const;

  /// Plans by the loaded order if that has all gradients of the table. Unless it is the same on all
  /// ranks, that of rank 0 counts, which is a collective call; throws as saved_order_of_rank_0
  /// does.
  void begin(Communicator& communicator, bool is_same_on_all_ranks);

  /// Takes the order of a saved state after begin(). Returns true if gradients() has changed.
  bool take(const Names& names);

  /// Takes the order in which gradients became ready on rank 0, `mine` there, by a collective call,
  /// if no order is known. Returns true if it was not. Throws as order_of_rank_0 does.
  bool learn(Communicator& control, const std::vector<GradientId>& mine);

  /// Returns true once the order is that of a saved state or of rank 0.
  bool is_known() const noexcept { return is_known_; }
  /// Returns the gradients in their order; empty before begin().
  const std::vector<GradientId>& gradients() const noexcept { return gradients_; }
  /// Returns the names in the order that is known, or was loaded, for a saved state.
  Names names() const;
  /// Returns a fingerprint of the order that is known, or of none.
  std::uint64_t fingerprint() const;

 private:
  const GradientTable& table_;
  Names loaded_;
  std::vector<GradientId> gradients_;
  bool is_known_ = false;
};

}  // namespace fastgpu::comm
