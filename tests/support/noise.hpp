// Bytes that cannot be compressed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace fastgpu::test {

/// Returns the same bytes for the same seed.
inline std::string noise(std::size_t count, unsigned seed = 7) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> words(count / sizeof(std::uint64_t) + 1);
  std::ranges::generate(words, random);
  return {reinterpret_cast<const char*>(words.data()), count};
}

}  // namespace fastgpu::test
