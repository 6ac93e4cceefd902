// One of several ways on which frames go to another rank and come from it: a TCP connection, or
// another network. Each takes the next frame as soon as it has room.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

#include "base/unique_fd.hpp"
#include "comm/transports/tcp_frame.hpp"

namespace fastgpu::comm {

/// The receiver of frames as they come.
class FrameEvents {
 public:
  virtual ~FrameEvents() = default;

  /// Whether there is room for the next frame.
  virtual bool may_read() const noexcept = 0;

  /// Returns whether what was read is all that is wanted now: the next frames may wait.
  virtual bool has_enough() const noexcept { return false; }

  /// Returns whether the bytes of a chunk may stay in the connection for the moment, because they
  /// would have to be copied twice if they were read now.
  virtual bool may_stay(const Frame& frame) = 0;

  /// Returns the memory for the bytes of a chunk as they come; empty if `arrived` is to get them
  /// together.
  virtual std::span<std::byte> target_of(const Frame& frame) = 0;

  /// A whole frame: `bytes` are those of target_of where that gave room.
  virtual void arrived(const Frame& frame, std::span<const std::byte> bytes) = 0;
};

/// One way to a rank. No function waits, but for `give_up`.
class Flow {
 public:
  /// Borrows the counters of its network.
  explicit Flow(LinkCounters& link) noexcept : link_(&link) {}
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;
  virtual ~Flow() = default;

  LinkCounters& link() const noexcept { return *link_; }

  virtual bool is_open() const noexcept = 0;
  virtual bool has_ended() const noexcept = 0;  ///< The network or the peer ended it.
  /// Returns true if it has ended by a fault. The peer's process has closed it otherwise.
  virtual bool has_failed() const noexcept { return false; }

  /// Returns the socket whose events show that there is something to read, or room to write; -1:
  /// its owner finds that out otherwise.
  virtual int socket() const noexcept { return -1; }

  /// Returns whether it is asked before the connections: its frames are usually confirmed soon.
  virtual bool goes_first() const noexcept { return false; }

  /// Returns whether it carries notices, which must wake a rank that sleeps. Others carry chunks,
  /// and notices only where nothing else is left.
  virtual bool carries_notices() const noexcept = 0;

  /// A flow that was given up.
  struct Remains {
    UniqueFd socket{};                 ///< The socket that it had, if any.
    std::optional<Frame> half_read{};  ///< A frame of which some bytes are in its target.
  };
  /// Closes the flow, and forgets what is half written. Memory of messages is touched no more.
  virtual Remains give_up() noexcept = 0;

  /// Touches the memory of messages no more. The flow goes on: it copies the rest of a message that
  /// is half written, and treats one that is half read as a message without a receive.
  virtual void abandon() = 0;

  // ---- sending ----
  /// Returns the length of its longest chunk where there is no other flow.
  virtual std::size_t longest_chunk() const noexcept { return kChunkBytes; }
  /// Returns whether a chunk may begin once the flow is idle.
  virtual bool has_room() const noexcept { return true; }
  virtual bool is_idle() const noexcept = 0;
  /// Returns true if nothing that a message needs is on its way. Frames about waits may be: while
  /// ranks ask each other, some always are.
  virtual bool is_quiet() const noexcept { return is_idle(); }
  /// Returns whether a further frame may begin before this one is written, to be written with it.
  virtual bool may_join() const noexcept { return false; }
  /// The flow is idle, or a frame may join. Borrows `body` until it is idle again, and until it is
  /// confirmed where frames are confirmed. `owner` is the caller's business.
  virtual void begin(const Frame& frame, std::span<const std::byte> body, Outgoing* owner) = 0;
  /// Begins to send a frame with a copy of its bytes.
  virtual void begin_copy(const Frame& frame, std::span<const std::byte> body) = 0;
  /// True once all that has begun is written; false where the flow takes no more now. Throws
  /// ErrorKind::remote where it is gone.
  virtual bool write() = 0;
  virtual Outgoing* owner() const noexcept = 0;
  virtual std::size_t body_bytes() const noexcept = 0;
  virtual void disown() noexcept = 0;

  /// Notes that the peer has confirmed so many more frames.
  virtual void confirmed(std::size_t /*frames*/) { last_confirmed = Clock::now(); }

  // ---- receiving ----
  /// Reads what there is, but not for ever; false where there was nothing. Throws ErrorKind::remote
  /// where the flow has ended or carries nonsense.
  virtual bool read(FrameEvents& events) = 0;

  /// Returns whether `read` has left frames that make no socket readable, because it had enough.
  virtual bool has_left() const noexcept { return false; }

  /// Returns whether its network carries nothing, though it should.
  virtual bool is_silent() const noexcept = 0;
  /// Returns how long it is silent then, at least: "1 s".
  virtual const char* silence() const noexcept = 0;

  using Clock = std::chrono::steady_clock;
  Clock::time_point last_confirmed{};  ///< The time of the last confirmation by the peer.
  bool wants_to_write = false;         ///< Kept by the poller of the socket.
  int silent_looks = 0;  ///< Kept by the transport: looks in a row that found silence.

 private:
  LinkCounters* link_;
};

}  // namespace fastgpu::comm
