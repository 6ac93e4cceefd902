// The loops over elements on which everything else here is built, as one table per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "comm/kernels/reduce.hpp"

namespace fastgpu::comm {

/// An instruction set. Ordered: a CPU with one has all before it. Every level gives the same bits.
enum class SimdLevel : std::uint8_t {
  portable,  ///< Any CPU.
  avx2,      ///< AVX2 and F16C.
  avx512     ///< AVX-512 F, BW, DQ and VL.
};

std::string_view name_of(SimdLevel level) noexcept;

/// The instruction sets that a CPU, and its operating system, can run.
struct CpuFeatures {
  bool avx2 = false;
  bool f16c = false;
  bool avx512f = false;
  bool avx512bw = false;
  bool avx512dq = false;
  bool avx512vl = false;
};

/// Returns the features of this CPU; none on other CPUs than x86-64.
CpuFeatures cpu_features() noexcept;
/// Returns the size of the largest cache, which cores may share.
std::size_t last_cache_bytes() noexcept;
SimdLevel highest_level(const CpuFeatures& cpu) noexcept;

/// Returns the level that `wanted`, the value of FASTGPU_COMM_SIMD, names; `highest` if it is
/// absent. Throws ErrorKind::usage if it names no level, or one above `highest`.
SimdLevel chosen_level(SimdLevel highest, const std::optional<std::string>& wanted);

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

/// Returns the table of one level, which the CPU must be able to run.
const Kernels& kernels_of(SimdLevel level) noexcept;

/// Returns the table for this process: the first call reads FASTGPU_COMM_SIMD, and throws as
/// chosen_level does. Any thread may call it.
const Kernels& kernels();

}  // namespace fastgpu::comm
