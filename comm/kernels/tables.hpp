// The tables behind kernels_of, each from a source file compiled for its own instruction set.
#pragma once

#include "comm/kernels/kernel_table.hpp"

namespace fastgpu::comm {

const Kernels& portable_kernels() noexcept;
const Kernels& avx2_kernels() noexcept;    ///< Exists on x86-64 only.
const Kernels& avx512_kernels() noexcept;  ///< Exists on x86-64 only.

}  // namespace fastgpu::comm
