// The number of files that this process may still open.
#pragma once

#include <cstddef>

namespace fastgpu {

/// Returns how many descriptors are left below the limit (ulimit -n), without a reserve for those
/// that libraries open by themselves; at least 1.
std::size_t free_descriptors();

}  // namespace fastgpu
