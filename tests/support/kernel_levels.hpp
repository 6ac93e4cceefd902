// The kernels of all levels that this CPU supports, and arrays for testing them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "comm/kernels/kernels.hpp"

namespace fastgpu::test {

struct Level {
  std::string name;
  const comm::Kernels& kernels;
};

inline std::vector<Level> levels() {
  using enum comm::SimdLevel;
  std::vector<Level> all;
  for (const comm::SimdLevel level : {portable, avx2, avx512})
    if (level <= comm::highest_level(comm::cpu_features()))
      all.push_back({std::string(comm::name_of(level)), comm::kernels_of(level)});
  return all;
}

/// Memory that is aligned for one element and for nothing larger: it starts one element after an
/// address that is aligned for every vector.
class Misaligned {
 public:
  Misaligned(std::size_t element, std::size_t count)
      : bytes_(count * element), memory_(count * element + 2 * kVector) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    start_ = memory_.data() + (kVector - address % kVector) % kVector + element;
  }
  Misaligned(const Misaligned&) = delete;
  Misaligned& operator=(const Misaligned&) = delete;
  ~Misaligned() = default;

  std::byte* data() { return start_; }
  std::span<std::byte> span() { return {start_, bytes_}; }
  std::vector<std::byte> values() const { return {start_, start_ + bytes_}; }

 private:
  static constexpr std::size_t kVector = 64;
  std::size_t bytes_;
  std::vector<std::byte> memory_;
  std::byte* start_ = nullptr;
};

/// Returns the bits of special numbers of a type: zeros, infinity, a signalling NaN, the smallest
/// number below 0.
inline std::vector<std::uint64_t> special_bits(comm::ElementType type) {
  switch (type) {
    case comm::ElementType::float32:
      return {0, 0x80000000, 0x7f800000, 0x7fa00001, 0x80000001};
    case comm::ElementType::float64:
      return {0, 1ULL << 63U, 0x7ff0ULL << 48U, 0xfff4ULL << 48U, (1ULL << 63U) + 1};
    case comm::ElementType::float16:
      return {0, 0x8000, 0x7c00, 0x7d01, 0x8001};
    case comm::ElementType::bfloat16:
      return {0, 0x8000, 0x7f80, 0xffa1, 0x8001};
    case comm::ElementType::int8:
    case comm::ElementType::uint8:
    case comm::ElementType::int32:
    case comm::ElementType::int64:
      break;
  }
  return {0};
}

/// Fills `data` with random bits. About every fourth number is a special one.
inline void fill_with_random_bits(std::span<std::byte> data, comm::ElementType type,
                                  std::uint32_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<std::uint64_t> special = special_bits(type);
  const std::size_t size = comm::size_of(type);
  for (std::size_t at = 0; at < data.size(); at += size) {
    const bool is_special = random() % 4 == 0;
    const std::uint64_t bits = is_special ? special[random() % special.size()] : random();
    std::memcpy(data.data() + at, &bits, size);
  }
}

}  // namespace fastgpu::test
