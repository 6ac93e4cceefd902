// Places at which a test may kill the process, like `kill -9`. Release builds have none of them.
#pragma once

#include <string_view>

#ifdef FASTGPU_FAULT_POINTS
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#endif

namespace fastgpu {

#ifdef FASTGPU_FAULT_POINTS

inline std::atomic<int> fault_points_passed{0};

/// Kills this process at the n-th passage if FASTGPU_FAULT is "<name>" or "<name>:<n>"; the name
/// "any" counts every fault point.
inline void fault_point(std::string_view name) noexcept {
  const char* variable = std::getenv("FASTGPU_FAULT");
  if (variable == nullptr) return;
  std::string_view wanted = variable;
  int passage = 1;
  if (const auto colon = wanted.rfind(':'); colon != std::string_view::npos) {
    const std::string_view number = wanted.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), passage);
    if (error == std::errc{} && end == number.data() + number.size())
      wanted.remove_suffix(number.size() + 1);
  }
  if (wanted != name && wanted != "any") return;
  if (++fault_points_passed == passage) std::raise(SIGKILL);
}

#else

constexpr void fault_point(std::string_view) noexcept {}

#endif

}  // namespace fastgpu
