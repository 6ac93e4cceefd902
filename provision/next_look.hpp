// How often to look at what takes its time.
#pragma once

#include <algorithm>
#include <chrono>

namespace fastgpu::provision {

/// How long to wait until the next look at what has been awaited for so long: at most a tenth of
/// that time is lost, or the `shortest` pause: a place is asked twice a second where none is named.
constexpr std::chrono::milliseconds next_look(
    std::chrono::milliseconds waited,
    std::chrono::milliseconds shortest = std::chrono::milliseconds(500)) {
  return std::clamp<std::chrono::milliseconds>(waited / 10, shortest, std::chrono::seconds(5));
}

}  // namespace fastgpu::provision
