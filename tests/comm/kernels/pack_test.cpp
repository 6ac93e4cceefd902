#include "comm/kernels/pack.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "support/kernel_levels.hpp"

namespace fastgpu::comm {
namespace {

constexpr float kPackInfinity = std::numeric_limits<float>::infinity();
constexpr Conversion kHalved{ElementType::float32, ElementType::float16, 0.5};

/// Gradients of odd lengths, and one of none.
struct Gradients {
  std::vector<std::vector<float>> values{{1, 2, 3}, {}, std::vector<float>(5000, 4), {5}};

  std::vector<ConstTensor> read_only() const {
    std::vector<ConstTensor> all;
    for (const auto& one : values)
      all.push_back({std::as_bytes(std::span(one)).data(), one.size()});
    return all;
  }
  std::vector<Tensor> writable() {
    std::vector<Tensor> all;
    for (auto& one : values)
      all.push_back({std::as_writable_bytes(std::span(one)).data(), one.size()});
    return all;
  }
};

TEST_SUITE_BEGIN("comm/pack");

TEST_CASE("tensors lie one after the other in the buffer, converted and scaled") {
  const Gradients gradients;
  CHECK(packed_bytes(gradients.read_only(), ElementType::float16) == 5004 * 2);
  std::vector<Float16> buffer(5004);
  pack(std::as_writable_bytes(std::span(buffer)), gradients.read_only(), kHalved);
  CHECK(to_float(buffer[0]) == 0.5F);
  CHECK(to_float(buffer[2]) == 1.5F);
  CHECK(to_float(buffer[3]) == 2);
  CHECK(to_float(buffer[5002]) == 2);
  CHECK(to_float(buffer[5003]) == 2.5F);
}

TEST_CASE("unpack undoes pack") {
  for (const test::Level& level : test::levels()) {
    const Gradients packed;
    Gradients unpacked;
    for (auto& one : unpacked.values)
      std::ranges::fill(one, -1.0F);
    std::vector<std::byte> buffer(packed_bytes(packed.read_only(), ElementType::float16));
    pack(buffer, packed.read_only(), kHalved, level.kernels);
    unpack(unpacked.writable(), buffer, {ElementType::float16, ElementType::float32, 2},
           level.kernels);
    CHECK(unpacked.values == packed.values);
  }
}

TEST_CASE("the check names the first tensor and the first element in it") {
  for (const test::Level& level : test::levels()) {
    Gradients gradients;
    std::vector<std::byte> buffer(packed_bytes(gradients.read_only(), ElementType::float16));
    const auto check = [&] {
      return pack_checked(buffer, gradients.read_only(), kHalved, level.kernels);
    };
    CHECK(check() == std::nullopt);
    gradients.values[3][0] = kPackInfinity;
    CHECK(check() == NonFinite{3, 0});
    gradients.values[2][4999] = -kPackInfinity;
    CHECK(check() == NonFinite{2, 4999});
    gradients.values[2][77] = std::numeric_limits<float>::quiet_NaN();
    CHECK(check() == NonFinite{2, 77});
  }
}

TEST_CASE("a list is searched without being packed") {
  for (const test::Level& level : test::levels()) {
    Gradients gradients;
    const auto search = [&] {
      return first_non_finite(gradients.read_only(), ElementType::float32, level.kernels);
    };
    CHECK(search() == std::nullopt);
    gradients.values[3][0] = kPackInfinity;
    gradients.values[2][4321] = kPackInfinity;
    CHECK(search() == NonFinite{2, 4321});
  }
}

TEST_CASE("what was packed is added to what tensors hold") {
  for (const test::Level& level : test::levels()) {
    Gradients gradients;
    std::vector<std::byte> buffer(packed_bytes(gradients.read_only(), ElementType::float16));
    pack(buffer, gradients.read_only(), kHalved, level.kernels);
    unpack_and_add(gradients.writable(), buffer, {ElementType::float16, ElementType::float32, 4},
                   level.kernels);
    CHECK(gradients.values[0] == std::vector<float>{3, 6, 9});
    CHECK(gradients.values[3] == std::vector<float>{15});
  }
}

TEST_CASE("a find changes nothing of what is written") {
  Gradients gradients;
  gradients.values[0][1] = kPackInfinity;
  std::vector<std::byte> checked(packed_bytes(gradients.read_only(), ElementType::float16));
  std::vector<std::byte> unchecked(checked.size());
  pack_checked(checked, gradients.read_only(), kHalved);
  pack(unchecked, gradients.read_only(), kHalved);
  CHECK(checked == unchecked);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
