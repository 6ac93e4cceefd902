#include "comm/transports/tcp_receives.hpp"

#include <string>

#include "base/error.hpp"
#include "comm/transports/long_messages.hpp"
#include "comm/transports/message_type.hpp"

namespace fastgpu::comm {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::remote, what);
}

}  // namespace

void TcpReceives::receive(Incoming& message) {
  const TcpArrival arrival = arrivals_.take(message.tag);
  if (!is_closed_) incoming_.add(message.tag, {&message, arrival.here});
  for (const TcpArrival::Chunk& chunk : arrival.chunks) {
    take(message, chunk, arrival);
    count(message, chunk.bytes.size());
  }
}

bool TcpReceives::take_now(Incoming& message) {
  if (!arrivals_.has_whole(message.tag)) return false;
  const TcpArrival arrival = arrivals_.take(message.tag);
  for (const TcpArrival::Chunk& chunk : arrival.chunks)
    take(message, chunk, arrival);
  return true;
}

/// Takes a chunk that was kept.
void TcpReceives::take(Incoming& message, const TcpArrival::Chunk& chunk,
                       const TcpArrival& arrival) {
  const auto length = static_cast<std::uint32_t>(chunk.bytes.size());
  check(message,
        {.tag = arrival.tag, .length = length, .offset = chunk.offset, .total = arrival.total});
  message.sink.take(chunk.offset, chunk.bytes);
}

void TcpReceives::check(const Incoming& message, const Frame& frame) {
  check_shape({frame.tag, frame.total}, {message.tag, message.sink.memory.size()});
  if (!message.sink.accepts(frame.offset, frame.length)) refuse("it sent a part of an element");
}

/// Every byte of a message comes once: whose place has been given to a connection may not be
/// handed back before that connection is done with it.
void TcpReceives::promise(Expected& expected, const Frame& frame) {
  expected.promised += frame.length;
  if (expected.promised > frame.total) refuse("it sent bytes twice");
}

void TcpReceives::comes_again(const Frame& chunk) noexcept {
  if (Expected* const expected = incoming_.find(chunk.tag)) expected->promised -= chunk.length;
}

std::span<std::byte> TcpReceives::target_of(const Frame& chunk) {
  Expected* const expected = incoming_.find(chunk.tag);
  if (expected == nullptr) return {};
  check(*expected->message, chunk);
  if (expected->message->sink.reduction) return {};
  promise(*expected, chunk);
  return expected->message->sink.memory.subspan(chunk.offset, chunk.length);
}

void TcpReceives::arrived(const Frame& chunk, std::span<const std::byte> bytes) {
  if (Expected* const expected = incoming_.find(chunk.tag)) {
    Incoming& message = *expected->message;
    check(message, chunk);
    const auto& memory = message.sink.memory;
    const bool is_in_place = !memory.empty() && bytes.data() == memory.data() + chunk.offset;
    if (!is_in_place) {
      promise(*expected, chunk);
      message.sink.take(chunk.offset, bytes);
    }
    return count(message, bytes.size());
  }
  if (is_for_now(chunk)) {
    check(*now_, chunk);
    now_->sink.take(chunk.offset, bytes);
    now_ = nullptr;
    return;
  }
  if (chunk.total > kMostAhead) refuse("it sent a message that nobody asked for");
  arrivals_.keep(chunk, bytes);
}

/// Returns true if the frame is all of the message that is received within a call.
bool TcpReceives::is_for_now(const Frame& frame) noexcept {
  return now_ != nullptr && now_->tag == frame.tag && frame.length == frame.total &&
         !arrivals_.has(frame.tag);
}

void TcpReceives::count(Incoming& message, std::size_t bytes) {
  message.moved += bytes;
  if (message.moved > message.sink.memory.size()) refuse("it sent bytes twice");
  if (message.moved < message.sink.memory.size()) return;
  if (incoming_.find(message.tag) != nullptr) incoming_.take(message.tag);
  events_.received(message);
}

void TcpReceives::close() noexcept {
  is_closed_ = true;
  incoming_.clear();
}

void TcpReceives::clear() {
  incoming_.clear();
  arrivals_.clear();
}

}  // namespace fastgpu::comm
