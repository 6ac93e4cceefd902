#include "comm/transports/mailbox.hpp"

#include <cassert>
#include <cstring>
#include <type_traits>

namespace fastgpu::comm {
namespace {

/// Returns the length in whole cache lines: messages in the ring of bytes start at these, and do
/// not wrap around its end.
std::uint64_t lines(std::size_t bytes) noexcept {
  return (bytes + 63) / 64 * 64;
}

std::uint64_t where_it_fits(std::uint64_t at, std::size_t bytes, std::uint64_t ring) noexcept {
  const std::uint64_t left = ring - at % ring;
  return lines(bytes) <= left ? at : at + left;
}

}  // namespace

void Descriptor::set(const Terms& terms) noexcept {
  static_assert(sizeof(Terms) <= kBody && std::is_trivially_copyable_v<Terms>);
  std::memcpy(body, &terms, sizeof(Terms));
}

Descriptor::Terms Descriptor::terms() const noexcept {
  Terms terms;
  std::memcpy(&terms, body, sizeof(Terms));
  return terms;
}

bool Mailbox::put_bytes(std::span<const std::byte> bytes, SharedStores& stores) {
  const std::uint64_t at = where_it_fits(sender_.bytes, bytes.size(), kRing);
  const std::uint64_t end = at + lines(bytes.size());
  if (end - seen_dropped_.bytes > kRing) {
    seen_dropped_.bytes = bytes_dropped_.load(std::memory_order_acquire);
    if (end - seen_dropped_.bytes > kRing) return false;
  }
  stores.store(std::span(ring_).subspan(at % kRing, bytes.size()), bytes);
  sender_.bytes = end;
  return true;
}

std::span<std::byte> Mailbox::free_cell() noexcept {
  if (sender_.cells - cells_dropped_.load(std::memory_order_acquire) >= kCells) return {};
  return cells_[sender_.cells % kCells];
}

std::span<const std::byte> Mailbox::bytes(std::size_t bytes) const noexcept {
  assert(bytes <= kEagerBytes);
  return {ring_ + where_it_fits(receiver_.bytes, bytes, kRing) % kRing, bytes};
}

void Mailbox::drop_bytes(std::size_t bytes) noexcept {
  static_assert(kRing >= kRing / 4 + 2 * kEagerBytes);  // The longest one always fits in the end.
  receiver_.bytes = where_it_fits(receiver_.bytes, bytes, kRing) + lines(bytes);
  // Published now and then, as descriptors are.
  if (receiver_.bytes - bytes_dropped_.load(std::memory_order_relaxed) >= kRing / 4)
    bytes_dropped_.store(receiver_.bytes, std::memory_order_release);
}

std::span<const std::byte> Mailbox::cell() const noexcept {
  return cells_[receiver_.cells % kCells];
}

void Mailbox::drop_cell() noexcept {
  cells_dropped_.store(++receiver_.cells, std::memory_order_release);
}

}  // namespace fastgpu::comm
