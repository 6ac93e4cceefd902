// The arithmetic of thin factors, against references in float64.
#include "comm/codecs/low_rank.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace fastgpu::comm {
namespace {

using Matrix = std::vector<float>;

constexpr LowRankForm kForms[] = {{1, 1, 1},   {1, 9, 1},    {9, 1, 2},   {4, 4, 3},
                                  {5, 7, 4},   {33, 17, 5},  {17, 33, 7}, {64, 65, 8},
                                  {66, 3, 11}, {130, 257, 4}};

Matrix random_matrix(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Matrix numbers(count);
  for (float& number : numbers)
    number = normal(random);
  return numbers;
}

double at(const Matrix& numbers, std::size_t index) {
  return static_cast<double>(numbers[index]);
}

TEST_SUITE_BEGIN("comm/codecs/low_rank");

TEST_CASE("matrices of two dimensions and more have factors if these are half as long at most") {
  using Shape = std::vector<std::uint64_t>;
  const auto form = [](const Shape& shape, std::size_t thin) { return low_rank_form(shape, thin); };
  CHECK(form({64, 128}, 4) == LowRankForm{64, 128, 4});
  CHECK(form({64, 3, 7, 7}, 2) == LowRankForm{64, 147, 2});
  CHECK(form({16, 16}, 4) == LowRankForm{16, 16, 4});  // 128 of 256 numbers.
  CHECK_FALSE(form({16, 15}, 4));
  CHECK_FALSE(form({10'000}, 1));
  CHECK_FALSE(form({10'000, 1}, 1));
  CHECK_FALSE(form({}, 1));
  CHECK_FALSE(form({64, 0, 128}, 4));
}

TEST_CASE("products are those of float64 to rounding") {
  for (const LowRankForm& form : kForms) {
    CAPTURE(form.rows);
    CAPTURE(form.columns);
    CAPTURE(form.thin);
    const Matrix matrix = random_matrix(form.elements(), 1);
    const Matrix left = random_matrix(form.left(), 2);
    const Matrix right = random_matrix(form.right(), 3);
    const double allowed = 1e-5 * std::sqrt(static_cast<double>(form.elements()));
    double most = 0;
    Matrix got(form.left(), 7);
    multiply(form, got, matrix, right);
    for (std::size_t row = 0; row < form.rows; ++row)
      for (std::size_t w = 0; w < form.thin; ++w) {
        double sum = 0;
        for (std::size_t column = 0; column < form.columns; ++column)
          sum += at(matrix, row * form.columns + column) * at(right, column * form.thin + w);
        most = std::max(most, std::abs(sum - at(got, row * form.thin + w)));
      }
    CHECK(most <= allowed);
    most = 0;
    got.assign(form.right(), 7);
    multiply_transposed(form, got, matrix, left);
    for (std::size_t column = 0; column < form.columns; ++column)
      for (std::size_t w = 0; w < form.thin; ++w) {
        double sum = 0;
        for (std::size_t row = 0; row < form.rows; ++row)
          sum += at(matrix, row * form.columns + column) * at(left, row * form.thin + w);
        most = std::max(most, std::abs(sum - at(got, column * form.thin + w)));
      }
    CHECK(most <= allowed);
    most = 0;
    got = matrix;
    add_product(form, got, left, right, -0.5F);
    for (std::size_t row = 0; row < form.rows; ++row)
      for (std::size_t column = 0; column < form.columns; ++column) {
        double sum = at(matrix, row * form.columns + column);
        for (std::size_t w = 0; w < form.thin; ++w)
          sum -= 0.5 * at(left, row * form.thin + w) * at(right, column * form.thin + w);
        most = std::max(most, std::abs(sum - at(got, row * form.columns + column)));
      }
    CHECK(most <= allowed);
  }
}

TEST_CASE("columns become orthogonal, and one that depends on others becomes 0") {
  constexpr LowRankForm kForm{50, 20, 5};
  Matrix left = random_matrix(kForm.left(), 4);
  for (std::size_t row = 0; row < kForm.rows; ++row)
    left[row * kForm.thin + 3] = left[row * kForm.thin] - 2 * left[row * kForm.thin + 1];
  make_orthogonal(kForm, left);
  for (std::size_t one = 0; one < kForm.thin; ++one)
    for (std::size_t other = 0; other < kForm.thin; ++other) {
      double product = 0;
      for (std::size_t row = 0; row < kForm.rows; ++row)
        product += at(left, row * kForm.thin + one) * at(left, row * kForm.thin + other);
      const double expected = one == other && one != 3 ? 1 : 0;
      CHECK(std::abs(product - expected) < 1e-6);
    }
  Matrix none(kForm.left());
  make_orthogonal(kForm, none);
  CHECK(none == Matrix(kForm.left()));
  left[7] = std::numeric_limits<float>::infinity();
  make_orthogonal(kForm, left);
  CHECK(!std::isfinite(left[7]));
}

TEST_CASE("two steps find a matrix whose rank is that of the factors") {
  constexpr LowRankForm kForm{40, 30, 3};
  Matrix matrix(kForm.elements());
  add_product(kForm, matrix, random_matrix(kForm.left(), 5), random_matrix(kForm.right(), 6), 1);
  Matrix left(kForm.left());
  Matrix right(kForm.right());
  start_right(kForm, right, 9);
  multiply(kForm, left, matrix, right);
  make_orthogonal(kForm, left);
  multiply_transposed(kForm, right, matrix, left);
  add_product(kForm, matrix, left, right, -1);
  for (const float rest : matrix)
    CHECK(std::abs(rest) < 1e-4F);
}

TEST_CASE("a right factor keeps its directions for the next step, and begins anew without any") {
  constexpr LowRankForm kForm{8, 100, 3};
  Matrix fresh(kForm.right());
  start_right(kForm, fresh, 1);
  CHECK(std::ranges::all_of(fresh, [](float each) { return each >= -1 && each < 1; }));
  Matrix other(kForm.right());
  start_right(kForm, other, 2);
  CHECK(fresh != other);
  Matrix right = random_matrix(kForm.right(), 7);
  for (std::size_t column = 0; column < kForm.columns; ++column) {
    right[column * kForm.thin] *= 1e20F;
    right[column * kForm.thin + 1] = 0;
  }
  right[5] = std::numeric_limits<float>::quiet_NaN();
  const Matrix before = right;
  continue_right(kForm, right, 1);
  const float factor = before[0] / right[0];
  CHECK(std::exp2(std::round(std::log2(factor))) == factor);  // Exact: nothing is rounded.
  float most = 0;
  for (std::size_t column = 0; column < kForm.columns; ++column) {
    CHECK(right[column * kForm.thin] * factor == before[column * kForm.thin]);
    most = std::max(most, std::abs(right[column * kForm.thin]));
    CHECK(right[column * kForm.thin + 1] == fresh[column * kForm.thin + 1]);
    CHECK(right[column * kForm.thin + 2] == fresh[column * kForm.thin + 2]);
  }
  CHECK(most >= 0.5F);
  CHECK(most <= 1);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
