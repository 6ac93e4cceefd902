// One libssh2 session over a stream. Buffers bytes in both directions, so that many small reads and
// writes of libssh2 need few system calls.
#pragma once

#include <memory>
#include <string>

#include "ssh/stream.hpp"

// libssh2's own names for its handles.
struct _LIBSSH2_SESSION;  // NOLINT(bugprone-reserved-identifier)
struct _LIBSSH2_CHANNEL;  // NOLINT(bugprone-reserved-identifier)

namespace fastgpu::ssh {

/// One session. Not movable, because libssh2 keeps its address.
class Session {
 public:
  explicit Session(std::unique_ptr<Stream> stream);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  _LIBSSH2_SESSION* get() const noexcept { return session_.get(); }
  Stream& stream() noexcept { return *stream_; }

  /// Call woken() before a round of libssh2 calls and flush() after it.
  void woken();
  void flush();

  /// Returns true if there is room for one more packet. Call it before any libssh2 call that sends:
  /// if libssh2 stops in the middle of a packet, it allows no other call until that packet is sent.
  bool can_send();

  /// Frees the buffers if they are empty.
  void rest();

  pollfd wanted() const { return stream_->wanted(); }

  /// Returns libssh2's message for its last failure.
  std::string last_error() const;
  /// Returns the first bytes from the other side, 8 KiB at most.
  const std::string& first_bytes() const noexcept { return first_bytes_; }
  /// Returns true if the other side has closed the connection, or it broke.
  bool lost() const noexcept { return lost_; }

  /// Moves bytes for libssh2's callbacks.
  ssize_t receive(char* buffer, std::size_t size);
  ssize_t send(const char* data, std::size_t size);

 private:
  struct Release {
    void operator()(_LIBSSH2_SESSION* session) const noexcept;
  };

  void refill();
  void drain();
  ssize_t failed(ssize_t code) noexcept;

  std::unique_ptr<Stream> stream_;
  std::string input_;
  std::size_t input_at_ = 0;
  bool input_dry_ = false;  // The stream has no more data until it is polled again.
  std::string first_bytes_;
  std::string output_;
  // A call waits for room in this round: it can continue only after the next poll.
  bool refused_ = false;
  bool lost_ = false;
  ssize_t failure_ = 0;  // The result of reads and writes once lost.
  std::unique_ptr<_LIBSSH2_SESSION, Release> session_;
};

/// Frees a channel and sends the closing message, as far as that is possible without blocking.
struct ReleaseChannel {
  void operator()(_LIBSSH2_CHANNEL* channel) const noexcept;
};
using Channel = std::unique_ptr<_LIBSSH2_CHANNEL, ReleaseChannel>;

}  // namespace fastgpu::ssh
