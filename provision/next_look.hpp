// How often to look at what takes its time.
#pragma once

#include <algorithm>
#include <chrono>

namespace fastgpu::provision {

/// How long to wait until the next look at what has been awaited for so long: at most a tenth of
/// that time is lost, and a place is asked at most twice a second.
constexpr std::chrono::milliseconds next_look(std::chrono::milliseconds waited) {
  using namespace std::chrono_literals;
  return std::clamp<std::chrono::milliseconds>(waited / 10, 500ms, 5s);
}

}  // namespace fastgpu::provision
