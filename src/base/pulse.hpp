// The pulse: a byte on the agent's stderr that shows that the agent is alive although it has no
// other output.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

namespace fastgpu {

inline constexpr char kPulse = '\x16';  // ASCII's character for this purpose: synchronous idle.
inline constexpr std::chrono::seconds kBetweenPulses{5};

inline std::string without_pulses(std::string_view text) {
  std::string out(text);
  std::erase(out, kPulse);
  return out;
}

}  // namespace fastgpu
