// The carrier of an SSH session: a TCP connection, or a channel of a session to a jump host.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstddef>

namespace fastgpu::ssh {

/// A two-way stream of bytes. All calls are non-blocking.
class Stream {
 public:
  virtual ~Stream() = default;

  /// Proceeds with the connection. Returns true once it is made. Throws Error, mostly
  /// ErrorKind::transient.
  virtual bool connect() = 0;

  /// Returns the number of bytes moved, 0 at the end of input, or -errno; -EAGAIN if it would
  /// block.
  virtual ssize_t read_some(char* buffer, std::size_t size) = 0;
  virtual ssize_t write_some(const char* data, std::size_t size) = 0;

  /// Called when the poll set has reported, before the first read.
  virtual void woken() {}
  /// Sends the bytes that lower layers have buffered.
  virtual void flush() {}

  /// Returns the descriptor and events to wait for.
  virtual pollfd wanted() const = 0;
  /// Shuts the stream: later reads report the end and writes fail.
  virtual void shut() noexcept = 0;
};

}  // namespace fastgpu::ssh
