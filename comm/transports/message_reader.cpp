#include "comm/transports/message_reader.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/error.hpp"
#include "comm/common/deadline.hpp"
#include "comm/kernels/kernels.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// The bytes that are read in one go, before others have their turn, and reduced or stored past the
/// caches: a core's second cache has room for them, and for those that they are reduced into.
constexpr std::size_t kBufferedPiece = 256 << 10;
/// The bytes that are copied in one go, a quarter of a millisecond. Calls of the kernel for 512 KiB
/// each take up to a fifth longer.
constexpr std::size_t kCopiedPiece = 2 << 20;
/// The length from which the sender is asked to copy, too, if the kernel copies.
constexpr std::size_t kJointBytes = 128 << 10;
/// The same for answers: their bytes go from one core to the other in any case. The receiver of a
/// stream has the places of its messages in its cache, and would lose them to the sender.
constexpr std::size_t kJointAnswer = 64 << 10;
/// The same for memory that this rank maps: shorter messages stay in the second caches.
constexpr std::size_t kJointMapped = 4 << 20;

/// A sender that has claimed a piece copies it within a millisecond, unless others have its core.
constexpr auto kLastPiece = 5s;
/// How often a sender that takes long is looked at.
constexpr auto kLookAtSender = 10ms;

}  // namespace

void MessageReader::add(Incoming& message, std::span<const std::byte> from, std::uint32_t request) {
  messages_.push_back({.message = &message, .from = from, .request = request});
}

void MessageReader::add(Incoming& message, std::uint64_t address, std::uint32_t request) {
  messages_.push_back({.message = &message, .address = address, .request = request});
}

/// Returns true for a message that two cores copy sooner than one. A sum is made by one, and a
/// sender that cannot be looked at could end unseen.
bool MessageReader::is_for_two(const Message& reading, bool is_answer) const noexcept {
  const MessageSink& sink = reading.message->sink;
  const std::size_t by_kernel = is_answer ? kJointAnswer : kJointBytes;
  return memory_.is_readable() && !sink.reduction && !sink.was_read_by_others &&
         sink.memory.size() >= (reading.from.empty() ? by_kernel : kJointMapped);
}

std::optional<MessageReader::Invitation> MessageReader::invite(bool is_answer) {
  Message& oldest = messages_.front();
  if (oldest.copy != 0 || oldest.message->moved > 0 || !is_for_two(oldest, is_answer))
    return std::nullopt;
  if (++copies_ == 0) ++copies_;
  oldest.copy = copies_;
  joint_.begin(oldest.copy);
  return Invitation{oldest.request, oldest.copy, oldest.message->sink.memory};
}

MessageReader::Read MessageReader::read() {
  Message& oldest = messages_.front();
  if (oldest.copy != 0) {
    if (!read_claimed(oldest)) return {};
  } else {
    read_next(oldest);
  }
  const Incoming& message = *oldest.message;
  return message.moved < message.sink.memory.size() ? Read{.has_moved = true} : ended();
}

MessageReader::Read MessageReader::ended() {
  const Message oldest = messages_.front();
  messages_.pop_front();
  return {.has_moved = true, .done = oldest.message, .request = oldest.request};
}

/// Reads the next bytes of a message that this rank alone copies: from where its sender has them,
/// or as the kernel copies them.
void MessageReader::read_next(const Message& reading) {
  Incoming& message = *reading.message;
  const MessageSink& sink = message.sink;
  const std::size_t most =
      sink.reduction || sink.was_read_by_others ? kBufferedPiece : kCopiedPiece;
  const std::size_t size = std::min(most, sink.memory.size() - message.moved);
  if (!reading.from.empty())
    stores_.put(sink, message.moved, reading.from.subspan(message.moved, size));
  else if (sink.reduction)
    stores_.put(sink, message.moved, staged(reading, message.moved, size));
  else
    copy_by_kernel(reading, message.moved, size);
  message.moved += size;
}

void MessageReader::copy_by_kernel(const Message& reading, std::size_t offset, std::size_t size) {
  const MessageSink& sink = reading.message->sink;
  const auto place = sink.memory.subspan(offset, size);
  if (!sink.was_read_by_others) return memory_.read(place, reading.address + offset);
  const auto begin = std::chrono::steady_clock::now();
  if (by_buffer_.next() == FasterWay::Way::usual) {
    memory_.read(place, reading.address + offset);
  } else {
    kernels().stream(place.data(), staged(reading, offset, size).data(), size);
  }
  by_buffer_.done(size, std::chrono::steady_clock::now() - begin);
}

/// Returns bytes that the kernel has copied into the buffer.
std::span<const std::byte> MessageReader::staged(const Message& reading, std::size_t offset,
                                                 std::size_t size) {
  staged_.resize(kBufferedPiece);
  const auto into = std::span(staged_).first(size);
  memory_.read(into, reading.address + offset);
  return into;
}

/// Reads a piece of a message that its sender copies, too, or learns that all is there. Returns
/// false while the sender has a piece.
bool MessageReader::read_claimed(Message& reading) {
  Incoming& message = *reading.message;
  const std::uint32_t pieces = copy_pieces(message.sink.memory.size());
  if (const auto piece = joint_.claim(reading.copy, pieces)) {
    ++reading.own_pieces;
    read_piece(reading, *piece);
    message.moved += copy_piece(message.sink.memory.size(), *piece).size;
    return true;
  }
  if (reading.own_pieces + joint_.released() < pieces) {
    if (!memory_.is_there()) throw Error(ErrorKind::remote, "it ended while it copied a message");
    return false;
  }
  if (const auto piece = joint_.take_returned(); piece && *piece < pieces)
    read_piece(reading, *piece);
  message.moved = message.sink.memory.size();
  return true;
}

void MessageReader::read_piece(const Message& reading, std::uint32_t piece) {
  const MessageSink& sink = reading.message->sink;
  const auto memory = sink.memory;
  const CopyPiece part = copy_piece(memory.size(), piece);
  if (!reading.from.empty())
    return sink.take(part.begin, reading.from.subspan(part.begin, part.size));
  memory_.read(memory.subspan(part.begin, part.size), reading.address + part.begin);
}

void MessageReader::forget() noexcept {
  if (!messages_.empty() && messages_.front().copy != 0) end_joint_copy(messages_.front());
  messages_.clear();
}

/// Lets no side claim another piece, and waits until the sender writes no more. One that is stopped
/// has written what the kernel was to write; what it copies itself goes to memory of a heap, which
/// it has mapped, whatever becomes of that here.
void MessageReader::end_joint_copy(const Message& reading) noexcept {
  const std::uint32_t claimed =
      std::min(joint_.close(reading.copy), copy_pieces(reading.message->sink.memory.size()));
  const auto has_piece = [&] { return reading.own_pieces + joint_.released() < claimed; };
  const Deadline deadline(kLastPiece);
  Deadline next_look(kLookAtSender);
  while (has_piece() && memory_.is_there() && !deadline.passed()) {
    std::this_thread::yield();
    if (!next_look.passed()) continue;
    if (memory_.is_stopped()) return;
    next_look = Deadline(kLookAtSender);
  }
}

}  // namespace fastgpu::comm
