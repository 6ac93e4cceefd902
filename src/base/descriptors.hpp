// How many files this process may still open.
#pragma once

#include <cstddef>

namespace fastgpu {

/// Returns how many descriptors are left below the limit (ulimit -n), some kept for those that
/// libraries open by themselves; at least 1.
std::size_t free_descriptors();

}  // namespace fastgpu
