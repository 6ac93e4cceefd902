#include "comm/transports/mailbox.hpp"

#include <algorithm>
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

std::atomic_ref<std::uint32_t> Mailbox::stamp_of(std::uint64_t descriptor) const noexcept {
  std::byte* const slot = slots_[descriptor % kDescriptors].bytes;
  return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(slot + offsetof(Descriptor, stamp)));
}

bool Mailbox::has_room() noexcept {
  if (sender_.descriptors - seen_dropped_.descriptors < kDescriptors) return true;
  seen_dropped_.descriptors = descriptors_dropped_.load(std::memory_order_acquire);
  return sender_.descriptors - seen_dropped_.descriptors < kDescriptors;
}

void Mailbox::put(Descriptor descriptor) noexcept {
  assert(has_room());
  const std::uint64_t at = sender_.descriptors++;
  std::byte* const slot = slots_[at % kDescriptors].bytes;
  constexpr std::size_t kStamp = offsetof(Descriptor, stamp);
  const auto* from = reinterpret_cast<const std::byte*>(&descriptor);
  std::memcpy(slot, from, kStamp);
  std::memcpy(slot + kStamp + sizeof(descriptor.stamp), from + kStamp + sizeof(descriptor.stamp),
              sizeof(Descriptor) - kStamp - sizeof(descriptor.stamp));
  // Sequentially consistent, as is the look at the receiver's sleep that follows.
  stamp_of(at).exchange(lap(at), std::memory_order_seq_cst);
}

bool Mailbox::put_bytes(std::span<const std::byte> bytes) noexcept {
  const std::uint64_t at = where_it_fits(sender_.bytes, bytes.size(), kRing);
  const std::uint64_t end = at + lines(bytes.size());
  if (end - seen_dropped_.bytes > kRing) {
    seen_dropped_.bytes = bytes_dropped_.load(std::memory_order_acquire);
    if (end - seen_dropped_.bytes > kRing) return false;
  }
  std::memcpy(ring_ + at % kRing, bytes.data(), bytes.size());
  sender_.bytes = end;
  return true;
}

std::span<std::byte> Mailbox::free_cell() noexcept {
  if (sender_.cells - cells_dropped_.load(std::memory_order_acquire) >= kCells) return {};
  return cells_[sender_.cells % kCells];
}

bool Mailbox::has_descriptor() const noexcept {
  const std::uint64_t at = receiver_.descriptors;
  return stamp_of(at).load(std::memory_order_seq_cst) == lap(at);
}

std::optional<Descriptor> Mailbox::take() noexcept {
  if (!has_descriptor()) return std::nullopt;
  std::optional<Descriptor> descriptor(std::in_place);
  std::memcpy(&*descriptor, slots_[receiver_.descriptors % kDescriptors].bytes, sizeof(Descriptor));
  std::atomic_signal_fence(std::memory_order_seq_cst);  // Prevents a second read from there.
  // Published now and then: the sender's look at it costs a cache line's journey.
  if (++receiver_.descriptors % (kDescriptors / 4) == 0)
    descriptors_dropped_.store(receiver_.descriptors, std::memory_order_release);
  return descriptor;
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
