#include "comm/codecs/low_rank.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

namespace fastgpu::comm {
namespace {

constexpr double kDependent = 1e-6;  ///< The part of a column's length that rounding leaves.

/// Calls action(first, width) for groups of thin columns; width is known to the compiler.
template <class Action>
void for_groups(std::size_t thin, Action action) {
  std::size_t first = 0;
  for (; first + 8 <= thin; first += 8)
    action(first, std::integral_constant<std::size_t, 8>());
  for (; first + 4 <= thin; first += 4)
    action(first, std::integral_constant<std::size_t, 4>());
  for (; first + 2 <= thin; first += 2)
    action(first, std::integral_constant<std::size_t, 2>());
  if (first < thin) action(first, std::integral_constant<std::size_t, 1>());
}

/// Copies a group of thin columns, so that it is dense.
template <std::size_t kWidth>
void copy_group(std::vector<float>& to, std::span<const float> from, std::size_t thin,
                std::size_t first) {
  const std::size_t rows = from.size() / thin;
  to.resize(rows * kWidth);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t w = 0; w < kWidth; ++w)
      to[row * kWidth + w] = from[row * thin + first + w];
}

/// Adds kRows rows of a matrix times `right`: their sums do not wait for each other.
template <std::size_t kRows, std::size_t kWidth>
void multiply_rows(const float* matrix, std::size_t columns, const float* right, float* sums) {
  std::array<std::array<float, kWidth>, kRows> sum{};
  for (std::size_t column = 0; column < columns; ++column)
    for (std::size_t row = 0; row < kRows; ++row)
      for (std::size_t w = 0; w < kWidth; ++w)
        sum[row][w] += matrix[row * columns + column] * right[column * kWidth + w];
  for (std::size_t row = 0; row < kRows; ++row)
    std::ranges::copy(sum[row], sums + row * kWidth);
}

/// Adds the transposed kRows rows of a matrix times as many rows of `left`.
template <std::size_t kRows, std::size_t kWidth>
void add_transposed_rows(const float* matrix, std::size_t columns, const float* left,
                         float* right) {
  for (std::size_t column = 0; column < columns; ++column)
    for (std::size_t w = 0; w < kWidth; ++w) {
      float sum = right[column * kWidth + w];
      for (std::size_t row = 0; row < kRows; ++row)
        sum += matrix[row * columns + column] * left[row * kWidth + w];
      right[column * kWidth + w] = sum;
    }
}

double product_of(std::span<const double> one, std::span<const double> other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    sum += one[i] * other[i];
  return sum;
}

void subtract(std::span<double> from, std::span<const double> direction) {
  const double length = product_of(from, direction);
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] -= length * direction[i];
}

/// Returns a number from -1 to 1 in which every bit depends on every bit of the seed and index.
float number_at(std::uint64_t seed, std::size_t index) noexcept {
  std::uint64_t bits = seed + (index + 1) * 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  bits ^= bits >> 31U;
  return static_cast<float>(static_cast<std::int64_t>(bits) >> 40U) * 0x1p-23F;
}

}  // namespace

std::optional<LowRankForm> low_rank_form(std::span<const std::uint64_t> shape, std::size_t thin) {
  if (shape.size() < 2) return std::nullopt;
  LowRankForm form{.rows = static_cast<std::size_t>(shape[0]), .columns = 1, .thin = thin};
  for (const std::uint64_t length : shape.subspan(1))
    form.columns *= static_cast<std::size_t>(length);
  if (form.elements() == 0 || 2 * (form.left() + form.right()) > form.elements())
    return std::nullopt;
  return form;
}

void multiply(const LowRankForm& form, std::span<float> left, std::span<const float> matrix,
              std::span<const float> right) {
  std::vector<float> group;
  for_groups(form.thin, [&](std::size_t first, auto width) {
    constexpr std::size_t kWidth = width();
    constexpr std::size_t kRows = 4;
    copy_group<kWidth>(group, right, form.thin, first);
    std::array<float, kRows * kWidth> sums{};
    for (std::size_t row = 0; row < form.rows;) {
      const float* const from = matrix.data() + row * form.columns;
      const std::size_t rows = row + kRows <= form.rows ? kRows : 1;
      if (rows == kRows)
        multiply_rows<kRows, kWidth>(from, form.columns, group.data(), sums.data());
      else
        multiply_rows<1, kWidth>(from, form.columns, group.data(), sums.data());
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t w = 0; w < kWidth; ++w)
          left[(row + i) * form.thin + first + w] = sums[i * kWidth + w];
      row += rows;
    }
  });
}

void multiply_transposed(const LowRankForm& form, std::span<float> right,
                         std::span<const float> matrix, std::span<const float> left) {
  std::vector<float> rows_of_left;
  std::vector<float> sums;
  for_groups(form.thin, [&](std::size_t first, auto width) {
    constexpr std::size_t kWidth = width();
    constexpr std::size_t kRows = 4;
    copy_group<kWidth>(rows_of_left, left, form.thin, first);
    sums.assign(form.columns * kWidth, 0);
    for (std::size_t row = 0; row < form.rows;) {
      const float* const from = matrix.data() + row * form.columns;
      const float* const by = rows_of_left.data() + row * kWidth;
      if (row + kRows <= form.rows) {
        add_transposed_rows<kRows, kWidth>(from, form.columns, by, sums.data());
        row += kRows;
      } else {
        add_transposed_rows<1, kWidth>(from, form.columns, by, sums.data());
        ++row;
      }
    }
    for (std::size_t column = 0; column < form.columns; ++column)
      for (std::size_t w = 0; w < kWidth; ++w)
        right[column * form.thin + first + w] = sums[column * kWidth + w];
  });
}

void add_product(const LowRankForm& form, std::span<float> matrix, std::span<const float> left,
                 std::span<const float> right, float factor) {
  std::vector<float> across(form.right());  // Column by column: a row of the matrix is one loop.
  for (std::size_t column = 0; column < form.columns; ++column)
    for (std::size_t w = 0; w < form.thin; ++w)
      across[w * form.columns + column] = right[column * form.thin + w];
  for_groups(form.thin, [&](std::size_t first, auto width) {
    constexpr std::size_t kWidth = width();
    const float* const from = across.data() + first * form.columns;
    for (std::size_t row = 0; row < form.rows; ++row) {
      std::array<float, kWidth> by{};
      for (std::size_t w = 0; w < kWidth; ++w)
        by[w] = factor * left[row * form.thin + first + w];
      float* const to = matrix.data() + row * form.columns;
      for (std::size_t column = 0; column < form.columns; ++column) {
        float sum = 0;
        for (std::size_t w = 0; w < kWidth; ++w)
          sum += by[w] * from[w * form.columns + column];
        to[column] += sum;
      }
    }
  });
}

void make_orthogonal(const LowRankForm& form, std::span<float> left) {
  std::vector<double> columns(form.left());
  const auto column = [&](std::size_t w) {
    return std::span(columns).subspan(w * form.rows, form.rows);
  };
  for (std::size_t w = 0; w < form.thin; ++w) {
    const std::span<double> mine = column(w);
    for (std::size_t row = 0; row < form.rows; ++row)
      mine[row] = static_cast<double>(left[row * form.thin + w]);
    const double before = std::sqrt(product_of(mine, mine));
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t other = 0; other < w; ++other)
        subtract(mine, column(other));
    const double length = std::sqrt(product_of(mine, mine));
    const bool is_dependent = length <= kDependent * before;
    for (std::size_t row = 0; row < form.rows; ++row) {
      mine[row] = is_dependent ? 0 : mine[row] / length;
      left[row * form.thin + w] = static_cast<float>(mine[row]);
    }
  }
}

void start_right(const LowRankForm& form, std::span<float> right, std::uint64_t seed) {
  for (std::size_t i = 0; i < form.right(); ++i)
    right[i] = number_at(seed, i);
}

void continue_right(const LowRankForm& form, std::span<float> right, std::uint64_t seed) {
  for (std::size_t w = 0; w < form.thin; ++w) {
    float most = 0;
    bool is_usable = true;
    for (std::size_t column = 0; column < form.columns; ++column) {
      const float size = std::abs(right[column * form.thin + w]);
      is_usable = is_usable && size <= std::numeric_limits<float>::max();
      most = std::max(most, size);
    }
    is_usable = is_usable && most > 0;
    const int exponent = is_usable ? std::ilogb(most) + 1 : 0;
    for (std::size_t column = 0; column < form.columns; ++column) {
      float& number = right[column * form.thin + w];
      number = is_usable ? std::ldexp(number, -exponent) : number_at(seed, column * form.thin + w);
    }
  }
}

}  // namespace fastgpu::comm
