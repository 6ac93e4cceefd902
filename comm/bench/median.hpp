// The median of repeated measurements.
#pragma once

#include <algorithm>
#include <vector>

namespace fastgpu::comm::bench {

/// Returns the median of at least one number.
inline double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::ranges::nth_element(numbers, middle);
  return *middle;
}

}  // namespace fastgpu::comm::bench
