// Runs programs on expressions instead of numbers, in any order that their dependencies allow.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "comm/schedule/check.hpp"

namespace fastgpu::comm {

/// What an element holds. Equal numbers are equal expressions: the same contributions, added in the
/// same order and with the same sides.
using Expression = std::uint32_t;

constexpr Expression kMeaningless = 0;  ///< Never written, or a sum that makes no sense.

/// Knows of every expression whose contributions are in it.
class Expressions {
 public:
  /// What `rank` has in element `element` to begin with.
  Expression contribution(int rank, std::uint64_t element);

  /// Meaningless where a contribution would be counted twice or elements would be mixed.
  Expression sum(Expression left, Expression right);

  /// Whether it is the sum of element `element` of the first `ranks` ranks, each once.
  bool is_sum_of_all(Expression expression, int ranks, std::uint64_t element) const;

 private:
  struct Contents {
    std::uint64_t element = 0;
    std::bitset<128> ranks;
  };

  std::vector<Contents> contents_{1};
  std::map<std::pair<int, std::uint64_t>, Expression> contributions_;
  std::map<std::pair<Expression, Expression>, Expression> sums_;
};

struct SymbolicResult {
  std::vector<std::vector<Expression>> data;  ///< Of each rank.
  std::vector<bool> finished;                 ///< Each rank: whether it has done all its steps.
};

/// Carries out programs in which find_fault() finds none. data and input hold contributions to
/// begin with. Steps are done in an order drawn from `random`; those of rank `held`, never.
SymbolicResult run(std::span<const Program> programs, const BufferSizes& sizes,
                   Expressions& expressions, std::mt19937& random, std::optional<int> held = {});

}  // namespace fastgpu::comm
