// The intervals between polls.
#pragma once

#include <algorithm>
#include <chrono>

namespace fastgpu::provision {

/// Returns the pause before the next poll, after `waited` so far: a tenth of that time, at least
/// `shortest` and at most 5 s. By default a place is polled at most twice a second.
constexpr std::chrono::milliseconds poll_interval(
    std::chrono::milliseconds waited,
    std::chrono::milliseconds shortest = std::chrono::milliseconds(500)) {
  return std::clamp<std::chrono::milliseconds>(waited / 10, shortest, std::chrono::seconds(5));
}

}  // namespace fastgpu::provision
