// Copies of bytes, as fast as the CPU can for their length.
#pragma once

#include <cstddef>
#include <span>

#include "comm/kernels/kernels.hpp"

namespace fastgpu::comm {

/// Copies as many bytes as both spans have, which do not overlap unless they are the same. They are
/// a part of `whole` bytes that are copied one part after the other: a long whole goes past the
/// caches, which then keep their content.
void copy_bytes(std::span<std::byte> to, std::span<const std::byte> from, std::size_t whole,
                const Kernels& with = kernels());

}  // namespace fastgpu::comm
