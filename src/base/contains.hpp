// Whether a range has a value: std::ranges::contains of C++23.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>

namespace fastgpu {

/// Returns true if the range has `value`, or an element whose projection is equal to it.
template <class Range, class Value, class Projection = std::identity>
constexpr bool contains(const Range& range, const Value& value, Projection projection = {}) {
  return std::ranges::find(range, value, projection) != std::ranges::end(range);
}

}  // namespace fastgpu
