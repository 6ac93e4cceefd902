// The Machine of loops.hpp for a CPU with vectors of kBytes. `Isa`, in an unnamed namespace, adds
// what the compiler has no operators for. These are load and store of kBytes / 4 halves that become
// floats, store_past_caches of an aligned vector, the sign_bits and spread_signs of 16 floats,
// append_large of 64, and put_bytes of 32 integers. append_large writes the places of those whose
// magnitude reaches a limit, may write up to 64, and returns how many count. put_bytes takes 1 to
// 255 for -127 to 127, and the next of these for other numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/kernels/formats.hpp"

namespace fastgpu::comm::loops {

template <class Lane, std::size_t kBytes>
struct VectorOf {
  using Type [[gnu::vector_size(kBytes)]] = Lane;
};

template <class Isa, std::size_t kBytes>
struct VectorMachine {
  template <class Lane>
  using Vector = typename VectorOf<Lane, kBytes>::Type;
  template <class T>
  static constexpr std::size_t kLanes = kBytes / sizeof(LaneOf<T>);

  template <class T>
  static Vector<LaneOf<T>> load(const T* from) noexcept {
    if constexpr (kIsHalf<T>) {
      return Isa::load(from);
    } else {
      Vector<T> value;
      __builtin_memcpy(&value, from, kBytes);
      return value;
    }
  }

  template <class T>
  static void store(T* to, Vector<LaneOf<T>> value) noexcept {
    if constexpr (kIsHalf<T>)
      Isa::store(to, value);
    else
      __builtin_memcpy(to, &value, kBytes);
  }

  static std::uint32_t sign_bits(const float* from) noexcept { return Isa::sign_bits(from); }
  static void spread_signs(std::uint32_t* to, std::uint32_t bits) noexcept {
    Isa::spread_signs(to, bits);
  }
  static std::size_t append_large(std::uint32_t* places, const float* from, std::uint32_t first,
                                  std::int32_t limit) noexcept {
    return Isa::append_large(places, from, first, limit);
  }
  static void put_bytes(std::int8_t* to, const std::int32_t* from) noexcept {
    Isa::put_bytes(to, from);
  }

  static void stream(void* to, const void* from, std::size_t bytes) noexcept {
    auto* out = static_cast<char*>(to);
    const auto* in = static_cast<const char*>(from);
    const std::size_t before = (kLine - reinterpret_cast<std::uintptr_t>(out) % kLine) % kLine;
    const std::size_t head = before < bytes ? before : bytes;
    __builtin_memcpy(out, in, head);
    std::size_t at = head;
    for (; bytes - at >= kLine; at += kLine)
      for (std::size_t part = 0; part < kLine; part += kBytes)
        Isa::store_past_caches(out + at + part,
                               load(reinterpret_cast<const char*>(in + at + part)));
    Isa::order_stores();
    __builtin_memcpy(out + at, in + at, bytes - at);
  }

 private:
  static constexpr std::size_t kLine = 64;  ///< The length of a cache line, a multiple of kBytes.
};

}  // namespace fastgpu::comm::loops
