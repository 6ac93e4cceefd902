// The sentences with which libfastgpu_comm says that its rank waits for another one. A program that
// watches for hangs must not take them for progress.
#pragma once

#include <string_view>

namespace fastgpu {

/// Each notice has one of these.
inline constexpr std::string_view kHasWaitedFor = "; this rank has waited for ";
inline constexpr std::string_view kWaitsForItIn = " waits for it in ";

/// Returns true if the line, which may have more in front, is such a notice.
constexpr bool is_wait_notice(std::string_view line) {
  const auto rank = line.find("rank ");
  return rank != line.npos && (line.find(kHasWaitedFor, rank) != line.npos ||
                               line.find(kWaitsForItIn, rank) != line.npos);
}

}  // namespace fastgpu
