// Numbers of gradients that are NaN or infinite, and what is said of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "comm/common/rank.hpp"
#include "comm/fusion/gradient_table.hpp"
#include "comm/gradients/gradient_settings.hpp"
#include "comm/kernels/element_type.hpp"

namespace fastgpu::comm {

/// The first number of a rank's gradients that was not finite, before any sum.
struct NonFiniteReport {
  enum class Value : std::uint8_t { nan, infinity };

  Rank rank{};
  GradientId gradient{};
  std::uint64_t index = 0;  ///< The index of the element in its gradient.
  Value value = Value::nan;

  friend bool operator==(const NonFiniteReport&, const NonFiniteReport&) = default;
};

/// Returns the value at `index`, which is not finite.
NonFiniteReport::Value non_finite_at(std::span<const std::byte> data, ElementType type,
                                     std::size_t index);

/// Keeps the report of the earlier gradient and index.
void keep_first(std::optional<NonFiniteReport>& first, const NonFiniteReport& other);

/// Returns "step 7: gradient 'fc.weight' of rank 2 has NaN at index 1234", or "the move of
/// parameter 'fc.weight' of rank 2 has NaN at index 1234". `on_wire` is the type in which the
/// gradient travels: a large number of another type becomes infinite there.
std::string describe(const NonFiniteReport& report, std::uint32_t step, const GradientTable& table,
                     ElementType on_wire, GradientContent content = GradientContent::gradients);

}  // namespace fastgpu::comm
