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

void Letter::set(const Terms& terms) noexcept {
  static_assert(sizeof(Terms) <= kBody && std::is_trivially_copyable_v<Terms>);
  std::memcpy(body, &terms, sizeof(Terms));
}

Letter::Terms Letter::terms() const noexcept {
  Terms terms;
  std::memcpy(&terms, body, sizeof(Terms));
  return terms;
}

std::atomic_ref<std::uint32_t> Mailbox::stamp_of(std::uint64_t letter) const noexcept {
  std::byte* const slot = slots_[letter % kLetters].bytes;
  return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(slot + offsetof(Letter, stamp)));
}

bool Mailbox::has_room() const noexcept {
  return sender_.letters - letters_dropped_.load(std::memory_order_acquire) < kLetters;
}

void Mailbox::put(Letter letter) noexcept {
  assert(has_room());
  const std::uint64_t at = sender_.letters++;
  std::byte* const slot = slots_[at % kLetters].bytes;
  constexpr std::size_t kStamp = offsetof(Letter, stamp);
  const auto* from = reinterpret_cast<const std::byte*>(&letter);
  std::memcpy(slot, from, kStamp);
  std::memcpy(slot + kStamp + sizeof(letter.stamp), from + kStamp + sizeof(letter.stamp),
              sizeof(Letter) - kStamp - sizeof(letter.stamp));
  // Sequentially consistent, as is the look at the receiver's sleep that follows.
  stamp_of(at).exchange(lap(at), std::memory_order_seq_cst);
}

bool Mailbox::put_bytes(std::span<const std::byte> bytes) noexcept {
  const std::uint64_t at = where_it_fits(sender_.bytes, bytes.size(), kRing);
  const std::uint64_t end = at + lines(bytes.size());
  if (end - bytes_dropped_.load(std::memory_order_acquire) > kRing) return false;
  std::memcpy(ring_ + at % kRing, bytes.data(), bytes.size());
  sender_.bytes = end;
  return true;
}

std::span<std::byte> Mailbox::free_cell() noexcept {
  if (sender_.cells - cells_dropped_.load(std::memory_order_acquire) >= kCells) return {};
  return cells_[sender_.cells % kCells];
}

bool Mailbox::has_letter() const noexcept {
  const std::uint64_t at = receiver_.letters;
  return stamp_of(at).load(std::memory_order_seq_cst) == lap(at);
}

std::optional<Letter> Mailbox::take() noexcept {
  if (!has_letter()) return std::nullopt;
  std::optional<Letter> letter(std::in_place);
  std::memcpy(&*letter, slots_[receiver_.letters % kLetters].bytes, sizeof(Letter));
  std::atomic_signal_fence(std::memory_order_seq_cst);  // Prevents a second read from there.
  // Published now and then: the sender's look at it costs a cache line's journey.
  if (++receiver_.letters % (kLetters / 4) == 0)
    letters_dropped_.store(receiver_.letters, std::memory_order_release);
  return letter;
}

std::span<const std::byte> Mailbox::bytes(std::size_t bytes) const noexcept {
  assert(bytes <= kEagerBytes);
  return {ring_ + where_it_fits(receiver_.bytes, bytes, kRing) % kRing, bytes};
}

void Mailbox::drop_bytes(std::size_t bytes) noexcept {
  receiver_.bytes = where_it_fits(receiver_.bytes, bytes, kRing) + lines(bytes);
  bytes_dropped_.store(receiver_.bytes, std::memory_order_release);
}

std::span<const std::byte> Mailbox::cell() const noexcept {
  return cells_[receiver_.cells % kCells];
}

void Mailbox::drop_cell() noexcept {
  cells_dropped_.store(++receiver_.cells, std::memory_order_release);
}

}  // namespace fastgpu::comm
