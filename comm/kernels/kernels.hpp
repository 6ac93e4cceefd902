// The loops over elements on which everything else here is built, as one table per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "comm/kernels/kernel_table.hpp"

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

/// Returns the table of one level, which the CPU must be able to run.
const Kernels& kernels_of(SimdLevel level) noexcept;

/// Returns the table for this process: the first call reads FASTGPU_COMM_SIMD, and throws as
/// chosen_level does. Any thread may call it.
const Kernels& kernels();

}  // namespace fastgpu::comm
