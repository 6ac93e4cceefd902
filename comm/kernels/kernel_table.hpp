// The table of the loops over elements on which everything else here is built.
#pragma once

#include <cstddef>

#include "comm/kernels/element_type.hpp"

namespace fastgpu::comm {

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

  Reduce reduce[kElementTypes][kReduceOps];               ///< into = into op from; average adds.
  Divide divide[kElementTypes];                           ///< Rounds integers towards zero.
  Conversions conversions[kElementTypes][kElementTypes];  ///< [to][from]
  Find first_non_finite[kElementTypes];  ///< The index of the first NaN or infinity, else `count`.
  Copy stream;                           ///< Copies past the caches.
};

}  // namespace fastgpu::comm
