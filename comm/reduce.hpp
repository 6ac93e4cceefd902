// Element-wise reductions: what is done to numbers while they travel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fastgpu::comm {

enum class ElementType : std::uint8_t { float32, float64, int32, int64 };

/// Integer sums wrap, integer averages round towards zero, min and max of floating-point numbers
/// are NaN where one of them is.
enum class ReduceOp : std::uint8_t { sum, average, min, max };

struct Reduction {
  ElementType type = ElementType::float32;
  ReduceOp op = ReduceOp::sum;
};

std::size_t size_of(ElementType type) noexcept;  ///< In bytes.
std::string_view name_of(ElementType type) noexcept;
std::string_view name_of(ReduceOp op) noexcept;

/// The type of our own that stands for T; no other T compiles.
template <class T>
constexpr ElementType kElementType = T::unsupported;
template <>
inline constexpr ElementType kElementType<float> = ElementType::float32;
template <>
inline constexpr ElementType kElementType<double> = ElementType::float64;
template <>
inline constexpr ElementType kElementType<std::int32_t> = ElementType::int32;
template <>
inline constexpr ElementType kElementType<std::int64_t> = ElementType::int64;

/// into[i] = into[i] op from[i]; average adds, and `finish` divides. Both spans have the same
/// length, a multiple of the element's size, and are aligned for it.
void reduce_into(std::span<std::byte> into, std::span<const std::byte> from, Reduction reduction);

/// Turns what was accumulated over `ranks` contributions into the result.
void finish(std::span<std::byte> data, Reduction reduction, int ranks);

}  // namespace fastgpu::comm
