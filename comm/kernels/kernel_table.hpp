// The table of the loops over elements on which everything else here is built.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/kernels/element_type.hpp"

namespace fastgpu::comm {

/// The number of float32 numbers that share a scale in a code: the last block may have fewer.
constexpr std::size_t kInt8Block = 256;
constexpr std::size_t kSignBlock = 512;

/// Returns the number of blocks of `count` numbers.
constexpr std::size_t blocks_of(std::size_t count, std::size_t block) noexcept {
  return (count + block - 1) / block;
}

/// A table of kernels. Pointers need the alignment of one element only. Counts are elements. Arrays
/// of one call do not overlap, but `to` and `from` may be one array if their types are the same.
/// Entries for meaningless combinations are null; kernels/reduce and kernels/convert list the
/// others.
struct Kernels {
  using Reduce = void (*)(void* into, const void* from, std::size_t count) noexcept;
  using Divide = void (*)(void* data, std::size_t count, int divisor) noexcept;
  using Convert = void (*)(void* to, const void* from, std::size_t count, double scale) noexcept;
  using Find = std::size_t (*)(const void* data, std::size_t count) noexcept;
  using ConvertChecked = std::size_t (*)(void* to, const void* from, std::size_t count,
                                         double scale) noexcept;
  using Copy = void (*)(void* to, const void* from, std::size_t bytes) noexcept;

  struct Conversions {
    Convert convert = nullptr;  ///< to = from * scale
    Convert add = nullptr;      ///< to = to + from * scale
    /// Converts; the result is that of first_non_finite(to).
    ConvertChecked convert_checked = nullptr;
  };

  /// A code of float32 numbers: the scales of its blocks, float32 each, and then what `encode`
  /// makes of each number. A code needs no alignment. The scale of a block with NaN or infinity is
  /// NaN.
  struct Code {
    using Encode = void (*)(void* code, const float* values, std::size_t count,
                            std::uint64_t seed) noexcept;
    /// `scales` and `numbers` are those of the first of `count` numbers, which begins a block.
    using Add = void (*)(float* sum, const void* scales, const void* numbers, std::size_t count,
                         float factor) noexcept;

    using EncodeWithFeedback = void (*)(void* code, float* values, std::size_t count,
                                        std::uint64_t seed) noexcept;

    Encode encode = nullptr;
    Add add = nullptr;  ///< sum = sum + factor * number, for any bytes.
    /// Encodes, and leaves what the code does not carry in `values`; 0 for what is not finite. Null
    /// for a code without feedback.
    EncodeWithFeedback encode_with_feedback = nullptr;
  };
  /// Writes the places of up to `room` numbers whose magnitudes' bits reach `limit`, in order; the
  /// place of values[0] is `first`. The result is their number; room + 1 if there are more.
  using Select = std::size_t (*)(std::uint32_t* places, std::size_t room, const float* values,
                                 std::size_t count, std::uint32_t first,
                                 std::int32_t limit) noexcept;
  using Clean = void (*)(float* values, std::size_t count) noexcept;

  Reduce reduce[kElementTypes][kReduceOps];               ///< into = into op from; average adds.
  Divide divide[kElementTypes];                           ///< Rounds integers towards zero.
  Conversions conversions[kElementTypes][kElementTypes];  ///< [to][from]
  Find first_non_finite[kElementTypes];  ///< The index of the first NaN or infinity, else `count`.
  Copy stream;                           ///< Copies past the caches.
  Code int8;   ///< Whole numbers from -127 to 127, a byte each, rounded at random by the seed.
  Code signs;  ///< A bit for each number, set below 0; its magnitude is the mean of its block.
  Select select;
  Clean drop_non_finite;  ///< Sets NaN and infinity to 0.
};

}  // namespace fastgpu::comm
