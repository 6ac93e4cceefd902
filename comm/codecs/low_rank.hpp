// A matrix as the product of two thin ones (PowerSGD): its arithmetic, without messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace fastgpu::comm {

constexpr std::size_t kMostThinColumns = 64;

/// The form of a matrix, whose numbers are in memory row by row. It is about left times the
/// transposed right: both have `thin` columns, left has a row for each of its rows, and right one
/// for each of its columns.
struct LowRankForm {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t thin = 0;

  std::size_t elements() const noexcept { return rows * columns; }
  std::size_t left() const noexcept { return rows * thin; }      ///< Numbers of the left factor.
  std::size_t right() const noexcept { return columns * thin; }  ///< Numbers of the right one.

  friend bool operator==(const LowRankForm&, const LowRankForm&) = default;
};

/// Returns the form of a gradient of this shape: a row for each index of its first dimension.
/// Absent if the factors would have more than half of its numbers: for all gradients of one
/// dimension, and for small ones.
std::optional<LowRankForm> low_rank_form(std::span<const std::uint64_t> shape, std::size_t thin);

/// left = matrix * right.
void multiply(const LowRankForm& form, std::span<float> left, std::span<const float> matrix,
              std::span<const float> right);

/// right = transposed matrix * left.
void multiply_transposed(const LowRankForm& form, std::span<float> right,
                         std::span<const float> matrix, std::span<const float> left);

/// matrix += factor * left * transposed right.
void add_product(const LowRankForm& form, std::span<float> matrix, std::span<const float> left,
                 std::span<const float> right, float factor);

/// Makes the columns of the left factor orthogonal, of length 1. One that depends on those before
/// it, but for rounding, becomes 0. NaN and infinity leave NaN.
void make_orthogonal(const LowRankForm& form, std::span<float> left);

/// Writes the right factor of a gradient's first step, from numbers at random that `seed` decides.
void start_right(const LowRankForm& form, std::span<float> right, std::uint64_t seed);

/// Makes the right factor of a step that of the next one: its numbers are up to 1, so that they
/// cannot grow from step to step. Columns that are 0 or not finite begin anew.
void continue_right(const LowRankForm& form, std::span<float> right, std::uint64_t seed);

}  // namespace fastgpu::comm
