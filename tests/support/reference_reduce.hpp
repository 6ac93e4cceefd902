// A reduction in double precision, to hold those of the library against.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>

#include "comm/kernels/reduce.hpp"

namespace fastgpu::test {

/// Reduces one element of every rank. The average of whole numbers is truncated.
inline double reference_reduce(std::span<const double> values, comm::ReduceOp op, bool is_whole) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  switch (op) {
    case comm::ReduceOp::sum:
      return sum;
    case comm::ReduceOp::average: {
      const double mean = sum / static_cast<double>(values.size());
      return is_whole ? std::trunc(mean) : mean;
    }
    case comm::ReduceOp::min:
      return *std::ranges::min_element(values);
    case comm::ReduceOp::max:
      return *std::ranges::max_element(values);
    case comm::ReduceOp::product:
      return std::accumulate(values.begin(), values.end(), 1.0, std::multiplies<>());
  }
  return 0;
}

}  // namespace fastgpu::test
