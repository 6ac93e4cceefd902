// The kernels in plain C++: for CPUs without the other sets, and the reference for these.
#include "comm/kernels/tables.hpp"

#include <algorithm>
#include <cstring>

#include "comm/kernels/table_of.hpp"

namespace fastgpu::comm {
namespace {

struct OneByOne {
  template <class Lane>
  using Vector = Lane;
  template <class T>
  static constexpr std::size_t kLanes = 1;

  template <class T>
  static loops::LaneOf<T> load(const T* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof(T));
    if constexpr (loops::kIsHalf<T>)
      return to_float(value);
    else
      return value;
  }

  template <class T>
  static void store(T* to, T value) noexcept {
    *to = value;
  }
  static void store(Float16* to, float value) noexcept { *to = to_float16(value); }
  static void store(BFloat16* to, float value) noexcept { *to = to_bfloat16(value); }

  static std::uint32_t sign_bits(const float* from) noexcept {
    return bits_of(from, [](std::uint32_t number) { return number >> 31U; });
  }
  static void spread_signs(std::uint32_t* to, std::uint32_t bits) noexcept {
    for (std::uint32_t i = 0; i < 16; ++i)
      to[i] = (bits >> i) << 31U;
  }
  static std::size_t append_large(std::uint32_t* places, const float* from, std::uint32_t first,
                                  std::int32_t limit) noexcept {
    const auto least = static_cast<std::uint32_t>(limit);
    const auto is_large = [least](std::uint32_t number) {
      return (number & 0x7fffffffU) >= least ? 1U : 0U;
    };
    std::uint64_t bits = 0;
    for (unsigned at = 0; at < 64; at += 16)
      bits |= std::uint64_t{bits_of(from + at, is_large)} << at;
    return loops::append_lanes<OneByOne>(places, first, bits);
  }
  static void put_bytes(std::int8_t* to, const std::int32_t* from) noexcept {
    for (std::size_t i = 0; i < 32; ++i)
      to[i] = static_cast<std::int8_t>(std::clamp(from[i], 1, 255) - 128);
  }

  static void stream(void* to, const void* from, std::size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
  }

 private:
  template <class Bit>
  static std::uint32_t bits_of(const float* from, Bit bit) noexcept {
    std::uint32_t bits = 0;
    for (std::uint32_t i = 0; i < 16; ++i) {
      std::uint32_t number;
      std::memcpy(&number, from + i, sizeof(number));
      bits |= bit(number) << i;
    }
    return bits;
  }
};

}  // namespace

constexpr Kernels kPortable = loops::table_of<OneByOne>();

const Kernels& portable_kernels() noexcept {
  return kPortable;
}

}  // namespace fastgpu::comm
