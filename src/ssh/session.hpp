// One libssh2 session over a stream. Its bytes are gathered on the way in and out: many small reads
// and writes of libssh2 become few system calls.
#pragma once

#include <memory>
#include <string>

#include "ssh/stream.hpp"

// libssh2's own names for its handles.
struct _LIBSSH2_SESSION;  // NOLINT(bugprone-reserved-identifier)
struct _LIBSSH2_CHANNEL;  // NOLINT(bugprone-reserved-identifier)

namespace fastgpu::ssh {

/// One session. It cannot move: libssh2 keeps its address.
class Session {
 public:
  explicit Session(std::unique_ptr<Stream> stream);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  _LIBSSH2_SESSION* get() const noexcept { return session_.get(); }
  Stream& stream() noexcept { return *stream_; }

  /// Runs before a round of libssh2 calls, flush() after it; any calls may come in between.
  void woken();
  void flush();

  /// Returns true if there is room for one more packet. Call it before anything that makes libssh2
  /// send. If libssh2 waited in the middle of a packet, it would allow no other call before that
  /// packet.
  bool can_send();

  /// Frees the buffers if no bytes are in them.
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
  bool input_dry_ = false;  // The stream has nothing more until it is polled again.
  std::string first_bytes_;
  std::string output_;
  bool refused_ = false;  // A call waits for room in this round: only the poll set may go on.
  bool lost_ = false;
  ssize_t failure_ = 0;  // The result of reads and writes once lost.
  std::unique_ptr<_LIBSSH2_SESSION, Release> session_;
};

/// Sends a polite farewell with the release of a channel, as far as possible without blocking.
struct ReleaseChannel {
  void operator()(_LIBSSH2_CHANNEL* channel) const noexcept;
};
using Channel = std::unique_ptr<_LIBSSH2_CHANNEL, ReleaseChannel>;

}  // namespace fastgpu::ssh
