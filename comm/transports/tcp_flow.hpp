// One of the connections between two ranks: frames in both directions, without waiting.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/transports/tcp_frame.hpp"

namespace fastgpu::comm {

/// The receiver of frames as they come.
class FrameEvents {
 public:
  virtual ~FrameEvents() = default;

  /// Whether there is room for the next frame.
  virtual bool may_read() const noexcept = 0;

  /// Returns the memory for the bytes of a chunk as they come; empty if `arrived` is to get them
  /// together.
  virtual std::span<std::byte> target_of(const Frame& frame) = 0;

  /// A whole frame: `bytes` are those of target_of where that gave room.
  virtual void arrived(const Frame& frame, std::span<const std::byte> bytes) = 0;
};

class TcpFlow {
 public:
  /// Takes a connected stream socket. Borrows the counters of its network.
  TcpFlow(UniqueFd socket, LinkCounters& link);

  LinkCounters& link() const noexcept { return *link_; }

  int socket() const noexcept { return socket_.get(); }
  bool is_open() const noexcept { return static_cast<bool>(socket_); }
  bool has_ended() const noexcept { return has_ended_; }  ///< The network or the peer ended it.

  /// A connection that was given up.
  struct Remains {
    UniqueFd socket;
    std::optional<Frame> half_read{};  ///< A frame of which some bytes are in its target.
  };
  /// Gives the socket away, and forgets what is half written.
  Remains give_up() noexcept;

  // ---- sending ----
  bool is_idle() const noexcept { return header_left_ == 0 && body_.empty(); }
  /// The flow is idle. Borrows `body` until it is idle again. `owner` is the caller's business.
  void begin(const Frame& frame, std::span<const std::byte> body, Outgoing* owner);
  /// Begins to send a frame with a copy of its bytes.
  void begin_copy(const Frame& frame, std::span<const std::byte> body);
  /// True once the frame is written; false where the connection takes no more now. Throws
  /// ErrorKind::remote where it is gone.
  bool write();
  Outgoing* owner() const noexcept { return owner_; }
  std::size_t body_bytes() const noexcept { return body_size_; }
  void disown() noexcept { owner_ = nullptr; }

  // ---- receiving ----
  /// Reads what there is, but not for ever; false where there was nothing. Throws ErrorKind::remote
  /// where the connection has ended or carries nonsense.
  bool read(FrameEvents& events);

  bool wants_to_write = false;  ///< Kept by the poller of the socket.
  int silent_looks = 0;         ///< Kept by the transport: looks in a row that found silence.

 private:
  std::size_t receive(std::span<std::byte> into);
  std::size_t moved(ssize_t result);
  [[noreturn]] void end(int error);
  bool read_ahead();
  bool read_body(FrameEvents& events);
  void take_ahead(std::span<std::byte> into) noexcept;

  UniqueFd socket_;
  LinkCounters* link_;
  bool has_ended_ = false;

  EncodedFrame header_{};
  std::size_t header_left_ = 0;
  std::span<const std::byte> body_{};
  std::size_t body_size_ = 0;
  std::vector<std::byte> copied_;
  Outgoing* owner_ = nullptr;

  static constexpr std::size_t kAhead = 4096;
  std::unique_ptr<std::byte[]> ahead_;  ///< Read, but not yet understood.
  std::size_t ahead_begin_ = 0;
  std::size_t ahead_end_ = 0;
  bool has_frame_ = false;
  Frame frame_{};
  std::span<std::byte> target_{};
  std::size_t filled_ = 0;
  std::unique_ptr<std::byte[]> staged_;  ///< A buffer for chunks that are handed over together.
};

}  // namespace fastgpu::comm
