#include "comm/kernels/copy.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "support/kernel_levels.hpp"

namespace fastgpu::comm {
namespace {

TEST_SUITE_BEGIN("comm/copy");

TEST_CASE("a copy of any length and place is one, and touches nothing beside it") {
  constexpr std::size_t kMargin = 64;
  for (const test::Level& level : test::levels())
    for (const std::size_t bytes : {0, 1, 4095, 16384, 100'003, 20'000'013})
      for (const std::size_t shift : {0, 1, 40}) {
        CAPTURE(bytes);
        CAPTURE(shift);
        std::vector<std::byte> from(bytes + shift);
        test::fill_with_random_bits(from, ElementType::uint8, 1);
        std::vector<std::byte> to(bytes + 2 * kMargin, std::byte{9});
        const auto source = std::span(from).subspan(shift);
        copy_bytes(std::span(to).subspan(kMargin, bytes), source, bytes, level.kernels);
        CHECK(std::ranges::equal(std::span(to).subspan(kMargin, bytes), source));
        CHECK(std::ranges::count(std::span(to).first(kMargin), std::byte{9}) == kMargin);
        CHECK(std::ranges::count(std::span(to).last(kMargin), std::byte{9}) == kMargin);
      }
}

TEST_CASE("a part of a long whole is copied like the whole") {
  std::vector<std::byte> from(100'003);
  test::fill_with_random_bits(from, ElementType::uint8, 1);
  for (const test::Level& level : test::levels()) {
    std::vector<std::byte> to(from.size());
    copy_bytes(to, from, std::size_t{1} << 30, level.kernels);
    CHECK(to == from);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
