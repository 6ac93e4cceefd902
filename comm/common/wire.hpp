// Numbers as bytes: the encoding of fixed messages between ranks. Big-endian.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/error.hpp"

namespace fastgpu::comm {

/// Returns a number with its bytes in the order of the wire, or one of the wire in this machine's.
template <std::unsigned_integral T>
T in_wire_order(T value) noexcept {
  if constexpr (std::endian::native == std::endian::big || sizeof(T) == 1)
    return value;
  else if constexpr (sizeof(T) == 2)
    return __builtin_bswap16(value);
  else if constexpr (sizeof(T) == 4)
    return __builtin_bswap32(value);
  else
    return __builtin_bswap64(value);
}

/// A writer into a buffer that the caller has made large enough for the whole message.
class WireWriter {
 public:
  explicit WireWriter(std::span<std::byte> buffer) : rest_(buffer) {}

  template <std::unsigned_integral T>
  WireWriter& put(T value) {
    const T wired = in_wire_order(value);
    std::memcpy(take(sizeof(T)).data(), &wired, sizeof(T));
    return *this;
  }

  WireWriter& put(std::span<const std::byte> bytes) {
    std::ranges::copy(bytes, take(bytes.size()).begin());
    return *this;
  }

 private:
  std::span<std::byte> take(std::size_t count) {
    if (count > rest_.size()) throw Error(ErrorKind::internal, "a message exceeds its buffer");
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  std::span<std::byte> rest_;
};

/// A reader of a WireWriter's output. Throws ErrorKind::remote if the message ends too early.
class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> message) : rest_(message) {}

  template <std::unsigned_integral T>
  T get() {
    T wired = 0;
    std::memcpy(&wired, take(sizeof(T)).data(), sizeof(T));
    return in_wire_order(wired);
  }

  template <std::size_t count>
  std::array<std::byte, count> get_bytes() {
    std::array<std::byte, count> bytes;
    std::ranges::copy(take(count), bytes.begin());
    return bytes;
  }

  /// Returns bytes borrowed from the message.
  std::span<const std::byte> get_bytes(std::size_t count) { return take(count); }

  /// Returns the number of bytes that follow.
  std::size_t left() const noexcept { return rest_.size(); }

 private:
  std::span<const std::byte> take(std::size_t count) {
    if (count > rest_.size()) throw Error(ErrorKind::remote, "a message ends too early");
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  std::span<const std::byte> rest_;
};

}  // namespace fastgpu::comm
