// Numbers at random that are the same on every machine.
#pragma once

#include <cstdint>

namespace fastgpu::comm {

/// Returns a number in which every bit depends on every bit of `value`.
constexpr std::uint64_t scattered(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

/// A sequence of numbers, by its seed (splitmix64).
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(scattered(seed)) {}

  std::uint64_t bits() noexcept { return scattered(state_ += 0x9e3779b97f4a7c15U); }

  /// Returns a number below `end`, which is above 0 and far below 2^32.
  std::uint64_t below(std::uint64_t end) noexcept { return ((bits() >> 32U) * end) >> 32U; }

  /// Returns a number from -1 to 1.
  double number() noexcept { return static_cast<double>(bits() >> 11U) * 0x1p-52 - 1; }

 private:
  std::uint64_t state_;
};

}  // namespace fastgpu::comm
