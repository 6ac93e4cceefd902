// The progress of a copy in figures: the part that is done, the rate, and the time left.
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

  /// `total` is the number of bytes for one node; absent if it is not known before the end.
  explicit CopyMeter(std::optional<Bytes> total) : total_(total) {}

  /// Returns "42% of 1.2 GB, 310 MB/s, 2s left" once `done` bytes of one node have been copied. The
  /// rate is measured from the first call on. Thus the bytes of an earlier, interrupted copy count
  /// as done but do not raise the rate.
  std::string figures(Bytes done, Clock::time_point now);

 private:
  std::optional<Bytes> total_;
  std::optional<Bytes> first_;
  Clock::time_point began_{};
};

}  // namespace fastgpu::cli
