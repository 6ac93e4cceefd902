#include "comm/gossip/sketch.hpp"

#include <algorithm>
#include <cstdint>

#include "comm/gossip/chance.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kGroup = 16;  ///< Numbers that share a sum: one hash for all of them.

double signed_sum(const float* numbers, std::size_t count, std::uint64_t signs) noexcept {
  float sum = 0;
  for (std::size_t i = 0; i < count; ++i)
    sum += (signs >> i & 1U) != 0 ? numbers[i] : -numbers[i];
  return sum;
}

}  // namespace

void add_to_sketch(Sketch& sketch, std::span<const float> numbers, std::size_t first) {
  for (std::size_t at = 0; at < numbers.size();) {
    const std::size_t index = first + at;
    const std::size_t offset = index % kGroup;
    const std::size_t count = std::min(kGroup - offset, numbers.size() - at);
    const std::uint64_t bits = scattered(index / kGroup + 1);
    sketch[bits >> 59U] += signed_sum(numbers.data() + at, count, (bits & 0xffffU) >> offset);
    at += count;
  }
}

double squared_length(std::span<const double> sums) noexcept {
  double length = 0;
  for (const double sum : sums)
    length += sum * sum;
  return length;
}

}  // namespace fastgpu::comm
