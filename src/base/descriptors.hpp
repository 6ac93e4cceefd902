// The number of files that this process may still open.
#pragma once

#include <cstddef>

namespace fastgpu {

/// Returns how many descriptors may still be opened below the limit (ulimit -n), at least 1.
/// Reserves nothing for descriptors that libraries open by themselves.
std::size_t free_descriptors();

}  // namespace fastgpu
