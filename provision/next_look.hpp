// The intervals of polling.
#pragma once

#include <algorithm>
#include <chrono>

namespace fastgpu::provision {

/// Returns the wait until the next look after a wait of `waited`. At most a tenth of that time is
/// lost, or the `shortest` pause: by default a place is asked twice a second.
constexpr std::chrono::milliseconds next_look(
    std::chrono::milliseconds waited,
    std::chrono::milliseconds shortest = std::chrono::milliseconds(500)) {
  return std::clamp<std::chrono::milliseconds>(waited / 10, shortest, std::chrono::seconds(5));
}

}  // namespace fastgpu::provision
