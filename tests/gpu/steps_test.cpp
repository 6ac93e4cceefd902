// What the kernels do, played on the CPU and compared with the CPU's own kernels bit by bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "comm/gpu/convert_steps.hpp"
#include "comm/gpu/find_step.hpp"
#include "comm/gpu/reduce_steps.hpp"
#include "comm/kernels/convert.hpp"
#include "gpu/warp.hpp"
#include "support/kernel_levels.hpp"

namespace fastgpu::comm::gpu {
namespace {

using test::play_warp;

constexpr std::size_t kCounts[] = {1, 2, 31, 33, 127, 128, 500, 512, 513, 1024, 2047, 2048};

/// `count` random elements that begin `offset` elements after a place that is aligned for all.
template <class T>
class Numbers {
 public:
  Numbers(std::size_t count, std::size_t offset, std::uint32_t seed)
      : bytes_(count * sizeof(T)), memory_(bytes_ + offset * sizeof(T) + 64) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    start_ = (64 - address % 64) % 64 + offset * sizeof(T);
    test::fill_with_random_bits(span(), kElementType<T>, seed);
  }

  T* data() { return reinterpret_cast<T*>(memory_.data() + start_); }
  std::span<std::byte> span() { return {memory_.data() + start_, bytes_}; }
  std::vector<std::byte> values() { return {span().begin(), span().end()}; }

 private:
  std::size_t bytes_;
  std::vector<std::byte> memory_;
  std::size_t start_ = 0;
};

/// Calls body(count, offset of one array, offset of the other) for many of each.
template <class Body>
void for_shapes(Body body) {
  for (const std::size_t count : kCounts)
    for (const std::size_t a : {0, 1, 2, 3, 8})
      for (const std::size_t b : {0, 1, 2, 5, 8})
        body(count, a, b);
}

template <class To, class From>
void check_conversion(double scale) {
  const Conversion conversion{kElementType<From>, kElementType<To>, scale};
  int wrong = 0;
  for_shapes([&](std::size_t count, std::size_t a, std::size_t b) {
    Numbers<From> from(count, a, 1);
    Numbers<To> to(count, b, 2);
    Numbers<To> expected = to;
    using Step = ConvertStep<To, From>;
    const Step step{to.data(), from.data(), static_cast<LaneOf<To>>(scale)};
    const bool met = play_warp<kWidthOf<To, From>>(
        from.data(), to.data(), count, step, [](const Step& s) { return s.met_non_finite(); });
    const auto first =
        convert_checked(expected.span(), from.span(), conversion, kernels_of(SimdLevel::portable));
    std::size_t found = 0;
    while (found < count && !step.is_non_finite(found))
      ++found;
    wrong += to.values() != expected.values();
    wrong += met != first.has_value() || found != first.value_or(count);
  });
  CHECK(wrong == 0);
}

template <class To, class From>
void check_addition(double scale) {
  const Conversion conversion{kElementType<From>, kElementType<To>, scale};
  int wrong = 0;
  for_shapes([&](std::size_t count, std::size_t a, std::size_t b) {
    Numbers<From> from(count, a, 3);
    Numbers<To> to(count, b, 4);
    Numbers<To> expected = to;
    const AddStep<To, From> step{to.data(), from.data(), static_cast<LaneOf<To>>(scale)};
    play_warp<kWidthOf<To, From>>(from.data(), to.data(), count, step,
                                  [](const auto&) { return false; });
    convert_and_add(expected.span(), from.span(), conversion, kernels_of(SimdLevel::portable));
    wrong += to.values() != expected.values();
  });
  CHECK(wrong == 0);
}

template <class T, class Op>
void check_reduction(ReduceOp op) {
  int wrong = 0;
  for_shapes([&](std::size_t count, std::size_t a, std::size_t b) {
    Numbers<T> into(count, a, 5);
    Numbers<T> from(count, b, 6);
    Numbers<T> expected = into;
    const ReduceStep<T, Op> step{into.data(), from.data()};
    play_warp<kWidthOf<T, T>>(into.data(), from.data(), count, step,
                              [](const auto&) { return false; });
    reduce_into(expected.span(), from.span(), {kElementType<T>, op});
    wrong += into.values() != expected.values();
  });
  CHECK(wrong == 0);
}

template <class T>
void check_reductions() {
  CAPTURE(std::string(name_of(kElementType<T>)));
  check_reduction<T, Sum>(ReduceOp::sum);
  check_reduction<T, Least>(ReduceOp::min);
  check_reduction<T, Greatest>(ReduceOp::max);
  check_reduction<T, Product>(ReduceOp::product);
  for (const int ranks : {1, 2, 3, 7}) {
    Numbers<T> data(1000, 1, 9);
    Numbers<T> expected = data;
    const DivideStep<T> step{data.data(), ranks};
    play_warp<kWidthOf<T, T>>(data.data(), data.data(), 1000, step,
                              [](const auto&) { return false; });
    finish(expected.span(), {kElementType<T>, ReduceOp::average}, ranks);
    CHECK(data.values() == expected.values());
  }
}

template <class T>
void check_search(std::uint32_t seed) {
  int wrong = 0;
  std::mt19937_64 random(seed);
  for_shapes([&](std::size_t count, std::size_t a, std::size_t b) {
    Numbers<T> data(count, a, 0);
    std::ranges::fill(data.span(), std::byte{0x3c});
    const auto bits = test::special_bits(kElementType<T>)[2 + b % 2];  // Infinity or NaN
    if (b > 0) {
      const std::size_t place = random() % count;
      std::memcpy(data.span().data() + place * sizeof(T), &bits, sizeof(T));
    }
    using Step = FindStep<T>;
    const Step step{data.data()};
    const bool met = play_warp<kWidthOf<T, T>>(data.data(), data.data(), count, step,
                                               [](const Step& s) { return s.met_non_finite(); });
    const auto first = first_non_finite(data.span(), kElementType<T>);
    std::size_t found = 0;
    while (found < count && !step.is_non_finite(found))
      ++found;
    wrong += met != first.has_value() || found != first.value_or(count);
  });
  CHECK(wrong == 0);
}

/// Counts visits, and vectors that are not where they must be.
struct CountStep {
  const float* data;
  std::vector<int>* visits;
  int* misplaced;

  template <int kWidth, int kCount>
  void go(std::uint64_t at, std::uint64_t stride) {
    for (unsigned k = 0; k < kCount; ++k) {
      const std::uint64_t start = at + k * stride;
      *misplaced += reinterpret_cast<std::uintptr_t>(data + start) % (sizeof(float) * kWidth) != 0;
      for (int i = 0; i < kWidth; ++i)
        ++visits->at(start + static_cast<unsigned>(i));
    }
  }
};

TEST_SUITE_BEGIN("gpu/steps");

TEST_CASE("a warp visits every element once, in vectors that are aligned") {
  for_shapes([](std::size_t count, std::size_t a, std::size_t b) {
    Numbers<float> from(count, a, 1);
    Numbers<float> to(count, b, 1);
    std::vector<int> visits(count, 0);
    int misplaced = 0;
    const CountStep step{from.data(), &visits, &misplaced};
    play_warp<4>(from.data(), to.data(), count, step, [](const auto&) { return false; });
    CHECK(visits == std::vector<int>(count, 1));
    CHECK(misplaced == 0);
  });
}

TEST_CASE("conversions have the CPU's bits, and meet what the CPU finds") {
  for (const double scale : {1.0, 0.5, 1.0 / 3, 1e-30}) {
    CAPTURE(scale);
    check_conversion<float, float>(scale);
    check_conversion<Float16, float>(scale);
    check_conversion<BFloat16, float>(scale);
    check_conversion<float, Float16>(scale);
    check_conversion<Float16, Float16>(scale);
    check_conversion<float, BFloat16>(scale);
    check_conversion<BFloat16, BFloat16>(scale);
    check_conversion<double, double>(scale);
  }
}

TEST_CASE("additions have the CPU's bits") {
  for (const double scale : {1.0, 1.0 / 3}) {
    check_addition<float, float>(scale);
    check_addition<float, Float16>(scale);
    check_addition<float, BFloat16>(scale);
    check_addition<Float16, Float16>(scale);
    check_addition<BFloat16, BFloat16>(scale);
    check_addition<Float16, float>(scale);
    check_addition<double, double>(scale);
  }
}

TEST_CASE("reductions have the CPU's bits, for every type and operation") {
  check_reductions<float>();
  check_reductions<double>();
  check_reductions<Float16>();
  check_reductions<BFloat16>();
  check_reductions<std::int8_t>();
  check_reductions<std::uint8_t>();
  check_reductions<std::int32_t>();
  check_reductions<std::int64_t>();
}

TEST_CASE("a search meets NaN and infinity wherever they are, and nothing else") {
  check_search<float>(1);
  check_search<double>(2);
  check_search<Float16>(3);
  check_search<BFloat16>(4);
}

TEST_CASE("copies keep every bit") {
  for_shapes([](std::size_t count, std::size_t a, std::size_t b) {
    Numbers<std::uint8_t> from(count, a, 1);
    Numbers<std::uint8_t> to(count, b, 2);
    const CopyStep<std::uint8_t> step{to.data(), from.data()};
    play_warp<16>(from.data(), to.data(), count, step, [](const auto&) { return false; });
    CHECK(to.values() == from.values());
  });
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm::gpu
