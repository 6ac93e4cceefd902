// What carries an SSH session: a TCP connection, or a channel of a session to a jump host.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstddef>

namespace fastgpu::ssh {

/// Nothing here blocks.
class Stream {
 public:
  virtual ~Stream() = default;

  /// Goes on towards being connected; true once it is. Throws Error, mostly ErrorKind::transient.
  virtual bool connect() = 0;

  /// The number of bytes moved, 0 at the end of input, or -errno; -EAGAIN where it would block.
  virtual ssize_t read_some(char* buffer, std::size_t size) = 0;
  virtual ssize_t write_some(const char* data, std::size_t size) = 0;

  /// Called when the poll set has reported, before the first read.
  virtual void woken() {}
  /// Sends on what lower layers have gathered.
  virtual void flush() {}

  /// What to wait for before anything can go on.
  virtual pollfd wanted() const = 0;
  /// From now on reads report the end and writes fail.
  virtual void shut() noexcept = 0;
};

}  // namespace fastgpu::ssh
