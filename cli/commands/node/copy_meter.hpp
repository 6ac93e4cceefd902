// The progress of a copy, in figures: part, rate and time left.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/units.hpp"

namespace fastgpu::cli {

class CopyMeter {
 public:
  using Clock = std::chrono::steady_clock;

  /// Takes the bytes for one node as `total`; absent if it is not known before the end.
  explicit CopyMeter(std::optional<Bytes> total) : total_(total) {}

  /// Returns "42% of 1.2 GB, 310 MB/s, 2s left" after `done` bytes of one node. The rate is that
  /// since the first call: bytes of an earlier, interrupted copy count as done, but not for the
  /// rate.
  std::string figures(Bytes done, Clock::time_point now);

 private:
  std::optional<Bytes> total_;
  std::optional<Bytes> first_;
  Clock::time_point began_{};
};

}  // namespace fastgpu::cli
