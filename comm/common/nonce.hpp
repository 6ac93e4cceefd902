// A number that is used once.
#pragma once

#include <array>
#include <cstddef>

namespace fastgpu::comm {

using Nonce = std::array<std::byte, 16>;

/// Returns unpredictable bytes from the kernel.
Nonce random_nonce();

}  // namespace fastgpu::comm
