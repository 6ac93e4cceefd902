// A subset of a table's gradients, one bit each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/fusion/gradient_table.hpp"

namespace fastgpu::comm {

/// A set. Combined sets belong to tables of one size.
class GradientSet {
 public:
  GradientSet() = default;
  explicit GradientSet(std::size_t gradients) : size_(gradients), bits_((gradients + 7) / 8) {}

  std::size_t bytes() const noexcept { return bits_.size(); }
  std::span<const std::byte> as_bytes() const noexcept { return std::as_bytes(std::span(bits_)); }

  /// Takes bytes() bytes; bits beyond the last gradient are ignored.
  void assign(std::span<const std::byte> bytes) {
    std::ranges::transform(bytes, bits_.begin(),
                           [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
    if (size_ % 8 != 0)
      bits_.back() = static_cast<std::uint8_t>(bits_.back() & ((1U << (size_ % 8)) - 1));
  }

  void add(GradientId id) { bits_[id.value / 8] |= static_cast<std::uint8_t>(mask(id)); }
  void clear() noexcept { std::ranges::fill(bits_, std::uint8_t{0}); }
  bool contains(GradientId id) const { return (bits_[id.value / 8] & mask(id)) != 0; }
  bool is_full() const noexcept { return count() == size_; }

  std::size_t count() const noexcept {
    std::size_t sum = 0;
    for (const std::uint8_t byte : bits_)
      sum += static_cast<std::size_t>(std::popcount(byte));
    return sum;
  }

  /// Returns the gradients that are not in this set, in order.
  std::vector<GradientId> missing() const {
    std::vector<GradientId> ids;
    for (std::size_t i = 0; i < size_; ++i)
      if (!contains({i})) ids.push_back({i});
    return ids;
  }

  GradientSet& operator&=(const GradientSet& other) {
    for (std::size_t i = 0; i < bits_.size(); ++i)
      bits_[i] &= other.bits_[i];
    return *this;
  }
  GradientSet& operator|=(const GradientSet& other) {
    for (std::size_t i = 0; i < bits_.size(); ++i)
      bits_[i] |= other.bits_[i];
    return *this;
  }
  friend bool operator==(const GradientSet&, const GradientSet&) = default;

 private:
  static unsigned mask(GradientId id) noexcept { return 1U << (id.value % 8); }

  std::size_t size_ = 0;
  std::vector<std::uint8_t> bits_;
};

}  // namespace fastgpu::comm
