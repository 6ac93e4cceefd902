// The loops over elements that everything else here is made of, as one table per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "comm/reduce.hpp"

namespace fastgpu::comm {

/// Ordered: a CPU that has one has all before it. Every level gives the same bits.
enum class SimdLevel : std::uint8_t {
  portable,  ///< Any CPU.
  avx2,      ///< With F16C.
  avx512     ///< F, BW, DQ and VL.
};

std::string_view name_of(SimdLevel level) noexcept;

/// What a CPU, and its operating system, can run.
struct CpuFeatures {
  bool avx2 = false;
  bool f16c = false;
  bool avx512f = false;
  bool avx512bw = false;
  bool avx512dq = false;
  bool avx512vl = false;
};

CpuFeatures cpu_features() noexcept;      ///< Of this one; none where it is no x86-64.
std::size_t last_cache_bytes() noexcept;  ///< Of the largest cache, which cores may share.
SimdLevel highest_level(const CpuFeatures& cpu) noexcept;

/// `wanted` is the value of FASTGPU_COMM_SIMD, and means `highest` where it is absent. Throws
/// ErrorKind::usage where it names no level, or one above `highest`.
SimdLevel chosen_level(SimdLevel highest, const std::optional<std::string>& wanted);

/// Pointers need the alignment of one element only. Counts are elements. Arrays of one call do not
/// overlap, but `to` and `from` may be one array where their types are the same. Entries for what
/// makes no sense are null; kernels/reduce and kernels/convert say what does.
struct Kernels {
  using Reduce = void (*)(void* into, const void* from, std::size_t count) noexcept;
  using Divide = void (*)(void* data, std::size_t count, int divisor) noexcept;
  using Convert = void (*)(void* to, const void* from, std::size_t count, double scale) noexcept;
  using Find = std::size_t (*)(const void* data, std::size_t count) noexcept;
  using ConvertChecked = std::size_t (*)(void* to, const void* from, std::size_t count,
                                         double scale) noexcept;
  using Copy = void (*)(void* to, const void* from, std::size_t bytes) noexcept;

  struct Conversions {
    Convert convert = nullptr;                 ///< to = from * scale
    Convert add = nullptr;                     ///< to = to + from * scale
    ConvertChecked convert_checked = nullptr;  ///< convert, and what first_non_finite(to) returns.
  };

  Reduce reduce[kElementTypes][kReduceOps];               ///< into = into op from; average adds.
  Divide divide[kElementTypes];                           ///< Rounds integers towards zero.
  Conversions conversions[kElementTypes][kElementTypes];  ///< [to][from]
  Find first_non_finite[kElementTypes];  ///< Index of the first NaN or infinity, else `count`.
  Copy stream;                           ///< Copies past the caches.
};

/// The table of one level, which the CPU must be able to run.
const Kernels& kernels_of(SimdLevel level) noexcept;

/// The table for this process: the first call reads FASTGPU_COMM_SIMD, and throws as chosen_level
/// does. Any thread.
const Kernels& kernels();

}  // namespace fastgpu::comm
