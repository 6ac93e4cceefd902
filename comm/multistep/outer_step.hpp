// The outer optimizer's step, and the division of parameters into slices: pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/kernels/element_type.hpp"

namespace fastgpu::comm {

/// The hyperparameters of an outer optimizer.
struct OuterRate {
  double rate = 1;
  double momentum = 0;
};

/// Applies the averaged difference, in place: SGD with Nesterov momentum, where the gradient is how
/// far the ranks have moved from `anchor` on average, `difference` = anchor - parameters. All spans
/// have elements of `type`, float32 or float64, and equal lengths; `momentum` may be empty if the
/// rate has none.
void outer_step(std::span<std::byte> anchor, std::span<std::byte> momentum,
                std::span<const std::byte> difference, ElementType type, const OuterRate& rate);

/// Returns the slice of each tensor, given their bytes. Slices are in order, and about equally
/// large; some are empty if there are more of them than tensors.
std::vector<std::uint32_t> slices_of_tensors(std::span<const std::size_t> bytes,
                                             std::uint32_t slices);

}  // namespace fastgpu::comm
