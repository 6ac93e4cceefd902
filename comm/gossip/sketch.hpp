// The length of long vectors and of their differences, from a few sums.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace fastgpu::comm {

constexpr std::size_t kSketchSums = 32;

/// A linear sketch: the sketch of a sum is the sum of the sketches, and its squared length is that
/// of the vector on average, with a standard deviation of about a quarter.
using Sketch = std::array<double, kSketchSums>;

/// Adds numbers, each to one sum and with a sign that its index decides. The first has the index
/// `first`.
void add_to_sketch(Sketch& sketch, std::span<const float> numbers, std::size_t first = 0);

double squared_length(std::span<const double> sums) noexcept;

}  // namespace fastgpu::comm
