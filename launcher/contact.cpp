#include "launcher/contact.hpp"

#include <algorithm>

#include "agent/protocol/silence.hpp"

namespace fastgpu::launcher {

using std::chrono::milliseconds;

bool is_lost(const NodeContact& contact, milliseconds patience) {
  constexpr milliseconds kMissed = agent::kNoticed - agent::kToReport;
  return contact.silence >= patience || (contact.are_others_ended && contact.silence >= kMissed);
}

milliseconds connect_limit(milliseconds silence) {
  constexpr milliseconds kShortest{2'000}, kLongest{10'000};
  return std::clamp(silence / 4, kShortest, kLongest);
}

}  // namespace fastgpu::launcher
