// A choice between two ways of doing the same, by measurement.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace fastgpu::comm {

/// Chooses between a usual way and another one of doing something that is done again and again:
/// each is tried twice at the beginning of every period, since another program may come between,
/// and the rest of the period goes by the better one.
class FasterWay {
 public:
  enum class Way : std::uint8_t { usual, other };

  /// `worth` is how much faster the other way must be; `period` is more than kTrials.
  FasterWay(unsigned period, double worth) : period_(period), worth_(worth) {}

  /// Returns the way for the next time.
  Way next() const noexcept { return is_trial() ? static_cast<Way>(count_ % 2) : chosen_; }

  /// Returns the better way, as far as is known.
  Way chosen() const noexcept { return chosen_; }

  /// Returns whether the next time is a trial. Then done() needs its duration.
  bool is_trial() const noexcept { return count_ < kTrials; }

  /// Tells that so many bytes have been moved by next(). The duration counts if it was a trial.
  void done(std::size_t bytes, std::chrono::nanoseconds taken) noexcept {
    if (is_trial()) {
      double& least = costs_[count_ % 2];
      const double cost = static_cast<double>(taken.count()) / static_cast<double>(bytes);
      least = count_ < 2 ? cost : std::min(least, cost);
    }
    ++count_;
    if (count_ == kTrials) chosen_ = costs_[0] > worth_ * costs_[1] ? Way::other : Way::usual;
    if (count_ == period_) count_ = 0;
  }

 private:
  static constexpr unsigned kTrials = 4;

  unsigned period_;
  double worth_;
  unsigned count_ = 0;  ///< Times in this period.
  Way chosen_ = Way::usual;
  std::array<double, 2> costs_{};  ///< Nanoseconds for a byte, by way.
};

}  // namespace fastgpu::comm
