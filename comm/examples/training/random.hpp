// Random numbers that are the same with every compiler and library, unlike those of std's
// distributions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace training {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// Returns a number in [-limit, limit).
  float uniform(float limit) {
    const double unit = static_cast<double>(engine_() >> 11) * 0x1p-53;
    return static_cast<float>((2 * unit - 1) * limit);
  }

  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t left = values.size(); left > 1; --left)
      std::swap(values[left - 1], values[engine_() % left]);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace training
