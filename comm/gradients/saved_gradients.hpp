// The state of a set of gradients, as bytes for a file: the order in which they travel, and what
// the codec of this rank remembers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/fusion/gradient_table.hpp"

namespace fastgpu::comm {

struct SavedGradients {
  /// The names in the order in which buckets are planned; absent before the first step. Sums of
  /// floating-point numbers depend on the buckets, so that training goes on bit by bit with it.
  std::optional<std::vector<std::string>> order{};
  /// A state of CodecState, borrowed; empty without a codec. The order alone is the same on all
  /// ranks, and in jobs of any number of ranks.
  std::span<const std::byte> codec{};
};

std::vector<std::byte> encode(const SavedGradients& state);

/// Decodes bytes of `encode`, and borrows them. No bytes are a state without an order and a codec.
/// Throws ErrorKind::usage for damaged bytes, for a name that is there twice, and for another
/// format.
SavedGradients decode_gradients(std::span<const std::byte> bytes);

std::vector<std::string> names_in_order(const GradientTable& table,
                                        std::span<const GradientId> order);

/// Returns the order of those names; absent unless they are all the gradients of the table.
std::optional<std::vector<GradientId>> order_of_names(
    const GradientTable& table, const std::optional<std::vector<std::string>>& names);

}  // namespace fastgpu::comm
