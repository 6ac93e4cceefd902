// Settings that tests make for the builds that they run. Release builds have none of them.
#pragma once

#ifdef FASTGPU_FAULT_POINTS
#include <cstdlib>
#endif

namespace fastgpu {

#ifdef FASTGPU_FAULT_POINTS

/// Returns true if a test has set the variable of that name.
inline bool is_set_by_test(const char* variable) noexcept {
  return std::getenv(variable) != nullptr;
}

#else

constexpr bool is_set_by_test(const char*) noexcept {
  return false;
}

#endif

}  // namespace fastgpu
