// The type of the elements of a message between two ranks. It travels in the message's tag, so that
// no header grows by it, and is compared where the message meets its receive.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "comm/kernels/element_type.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

/// The number of bits below the lane in a tag: the message's number on its lane.
constexpr int kChannelBits = 20;

/// The number of bits below the call's number in a tag.
constexpr int kCallShift = kChannelBits + 8;

/// The first of the lanes of messages between two ranks, which no collective uses: one for each
/// type.
constexpr std::uint8_t kMessageLane = 248;
static_assert(kMessageLane + kElementTypes == 256);

/// Returns the lane of messages of elements of this type.
constexpr std::uint8_t message_lane(ElementType type) noexcept {
  return static_cast<std::uint8_t>(kMessageLane + static_cast<std::uint8_t>(type));
}

/// Returns true for the tag of a message between two ranks, false for that of a collective's.
constexpr bool has_type(MessageTag tag) noexcept {
  return (tag.value >> kChannelBits & 0xff) >= kMessageLane;
}

/// Returns the type in a tag that has one.
constexpr ElementType type_in(MessageTag tag) noexcept {
  return static_cast<ElementType>(tag.value >> kChannelBits & (kElementTypes - 1));
}

/// Returns the tag without its type: a message meets the receive whose tag differs in no more.
constexpr MessageTag without_type(MessageTag tag) noexcept {
  constexpr std::uint64_t kType = std::uint64_t{kElementTypes - 1} << kChannelBits;
  return {has_type(tag) ? tag.value & ~kType : tag.value};
}

/// Returns the number by which a message is found among others: the type in its tag does not count.
constexpr std::uint64_t number_of_message(MessageTag tag) noexcept {
  return without_type(tag).value;
}

/// The tag and the length of a message, as one of two ranks knows it.
struct MessageShape {
  MessageTag tag{};
  std::uint64_t bytes = 0;

  friend auto operator<=>(const MessageShape&, const MessageShape&) = default;
};

/// Returns "8 float32", or "32 bytes" for a message without a type and for one of uint8.
std::string text_of(const MessageShape& shape);

/// Throws the error of a peer's message that is not what this rank expects: ErrorKind::usage if
/// both have types, else ErrorKind::remote.
[[noreturn]] void refuse_shape(const MessageShape& sent, const MessageShape& expected);

/// Refuses a message unless its type and its length are those that are expected.
inline void check_shape(const MessageShape& sent, const MessageShape& expected) {
  if (sent != expected) refuse_shape(sent, expected);
}

}  // namespace fastgpu::comm
