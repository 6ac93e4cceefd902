// Numbers as bytes: the encoding of fixed messages between ranks. Big-endian.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <span>

#include "base/error.hpp"

namespace fastgpu::comm {

/// A writer into a buffer that the caller has made large enough for the whole message.
class WireWriter {
 public:
  explicit WireWriter(std::span<std::byte> buffer) : rest_(buffer) {}

  template <std::unsigned_integral T>
  WireWriter& put(T value) {
    for (std::size_t shift = 8 * sizeof(T); shift > 0; shift -= 8)
      *take(1).data() = static_cast<std::byte>((value >> (shift - 8)) & 0xff);
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
    T value = 0;
    for (const std::byte byte : take(sizeof(T)))
      value = static_cast<T>((value << 7 << 1) | std::to_integer<T>(byte));
    return value;
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
