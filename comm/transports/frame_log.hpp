// The frames that one of several connections to a peer has carried, so that those which did not
// arrive can go by another connection.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/transports/tcp_frame.hpp"

namespace fastgpu::comm {

/// A frame that was given to a connection.
struct SentFrame {
  Frame frame{};
  std::span<const std::byte> body{};  ///< The bytes of a chunk, which its message lends.
  std::vector<std::byte> copied{};    ///< The bytes of another frame.
  Outgoing* owner = nullptr;          ///< The message of a chunk.

  std::span<const std::byte> bytes() const noexcept { return owner != nullptr ? body : copied; }
};

/// The log of one connection, in both directions. Frames of the kind `taken` are not counted: they
/// say how many others have come.
class FrameLog {
 public:
  static bool counts(TcpFrameKind kind) noexcept { return kind != TcpFrameKind::taken; }

  // ---- sending ----
  void sent(SentFrame frame) { unconfirmed_.push_back(std::move(frame)); }
  bool has_unconfirmed() const noexcept { return !unconfirmed_.empty(); }
  /// Returns true if it has unconfirmed frames that a message needs.
  bool has_unconfirmed_message() const noexcept {
    return std::ranges::any_of(
        unconfirmed_, [](const SentFrame& frame) { return !is_about_waits(frame.frame.kind); });
  }
  const std::deque<SentFrame>& unconfirmed() const noexcept { return unconfirmed_; }

  /// Forgets the frames that the peer has taken, `total` since the beginning, passes each to
  /// `done`, and returns their number. Throws ErrorKind::remote if they are more than were sent.
  template <class Done>
  std::size_t confirm(std::uint64_t total, Done done) {
    const std::uint64_t before = confirmed_;
    if (total > confirmed_ + unconfirmed_.size())
      throw Error(ErrorKind::remote, "it took more frames than were sent");
    for (; confirmed_ < total; ++confirmed_) {
      const SentFrame frame = std::move(unconfirmed_.front());
      unconfirmed_.pop_front();
      done(frame);
    }
    return static_cast<std::size_t>(confirmed_ - before);
  }

  /// Returns the frames that have to go by another connection.
  std::deque<SentFrame> take_unconfirmed() noexcept { return std::exchange(unconfirmed_, {}); }

  /// Lets go of the memory of messages. What was sent of them is still counted.
  void forget_messages() noexcept {
    for (SentFrame& frame : unconfirmed_) {
      frame.body = {};
      frame.owner = nullptr;
    }
  }

  // ---- receiving ----
  void arrived() noexcept {
    ++taken_;
    is_due_ = true;
  }
  std::uint64_t taken() const noexcept { return taken_; }

  /// The peer may not have got the last confirmation.
  void confirm_again() noexcept { is_due_ = true; }
  bool is_due() const noexcept { return is_due_; }
  /// Returns whether the peer is to get a confirmation, once.
  bool take_due() noexcept { return std::exchange(is_due_, false); }

  std::optional<std::uint64_t> peers_number{};  ///< The peer's number of this connection.

 private:
  std::deque<SentFrame> unconfirmed_;
  std::uint64_t confirmed_ = 0;
  std::uint64_t taken_ = 0;
  bool is_due_ = false;
};

}  // namespace fastgpu::comm
