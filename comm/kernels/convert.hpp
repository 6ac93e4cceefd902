// Conversion of elements from one type to another on their way to and from the wire, scaled and
// checked in the same pass.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "comm/kernels/kernels.hpp"
#include "comm/kernels/reduce.hpp"

namespace fastgpu::comm {

/// The conversion to = from * scale. The product is calculated in float32, in float64 for float64,
/// and rounded once more if `to` is smaller, to nearest, ties to even. Beyond its range that is
/// infinity. Between equal types a scale of 1 copies any type bit for bit. Else there are float64
/// to float64, float32 to each of float32, float16 and bfloat16, and each of the latter two to
/// itself and to float32.
struct Conversion {
  ElementType from = ElementType::float32;
  ElementType to = ElementType::float32;
  /// A finite number such as 1 / ranks, so that a sum in float16 stays in its range.
  double scale = 1;
  /// `to` is not read soon: between equal types, it goes to memory alone.
  bool past_caches = false;
};

bool is_possible(const Conversion& conversion) noexcept;

// The spans of the functions below hold as many elements of `conversion.to` and `conversion.from`,
// and are aligned for them. They do not overlap, but `to` may be `from` if the types are equal.
// Each throws ErrorKind::usage for a conversion that is not possible.

void convert(std::span<std::byte> to, std::span<const std::byte> from, const Conversion& conversion,
             const Kernels& with = kernels());

/// Converts, and returns the index of the first element of `to` that thereby is NaN or infinite: it
/// was so before, or it is too large for `to`. Integers are always finite.
std::optional<std::size_t> convert_checked(std::span<std::byte> to, std::span<const std::byte> from,
                                           const Conversion& conversion,
                                           const Kernels& with = kernels());

/// Adds: to = to + from * scale, with sums as in reduce_into. Floating-point types only.
void convert_and_add(std::span<std::byte> to, std::span<const std::byte> from,
                     const Conversion& conversion, const Kernels& with = kernels());

/// Returns the index of the first NaN or infinity.
std::optional<std::size_t> first_non_finite(std::span<const std::byte> data, ElementType type,
                                            const Kernels& with = kernels());

}  // namespace fastgpu::comm
