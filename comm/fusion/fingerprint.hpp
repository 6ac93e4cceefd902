// A short number that differs if two things differ.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace fastgpu::comm {

/// FNV-1a. It detects accidental differences, not those of an adversary.
class Fingerprint {
 public:
  template <std::unsigned_integral T>
  Fingerprint& add(T value) {
    for (std::size_t shift = 0; shift < 8 * sizeof(T); shift += 8)
      add_byte(static_cast<std::uint8_t>(value >> shift));
    return *this;
  }

  /// Adds text with its length, so that "ab", "c" is not "a", "bc".
  Fingerprint& add(std::string_view text) {
    add(std::uint64_t{text.size()});
    for (const char c : text)
      add_byte(static_cast<std::uint8_t>(c));
    return *this;
  }

  std::uint64_t value() const noexcept { return hash_; }

 private:
  void add_byte(std::uint8_t byte) { hash_ = (hash_ ^ byte) * 0x100000001b3U; }

  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

}  // namespace fastgpu::comm
