// The frames to a peer that carry no bytes of messages, until a connection takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "comm/transports/frame_log.hpp"
#include "comm/transports/tcp_frame.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

/// The card of a rank in an attempt to use a network again.
struct CarrierCard {
  std::uint64_t network = 0;
  std::uint64_t attempt = 0;
  CardKind kind = CardKind::proposal;
  std::vector<std::byte> bytes{};
};

/// A queue: what was added first leaves first.
class TcpNotices {
 public:
  bool is_empty() const noexcept { return frames_.empty(); }
  /// Returns true if no message needs what is here.
  bool is_quiet() const noexcept;
  /// Returns the frame that leaves now. There is one.
  SentFrame take();

  /// Adds a frame in place of one of its kind that has not left yet.
  void add_latest(TcpFrameKind kind, std::span<const std::byte> bytes);
  /// Adds the count of the frames that have come by a connection, in place of an older one.
  void add_taken(std::uint64_t connection, std::uint64_t frames);
  void add_note(MessageTag tag, const Note& note);
  void add_wanted(MessageTag tag);
  /// Longer reasons than kMaxAbortBytes are cut.
  void add_abort(std::span<const std::byte> reason);
  void add_card(const CarrierCard& card);
  /// Adds a frame that leaves before all others.
  void add_first(SentFrame frame) { frames_.push_front(std::move(frame)); }

  void clear() noexcept { frames_.clear(); }

 private:
  std::deque<SentFrame> frames_;
};

}  // namespace fastgpu::comm
