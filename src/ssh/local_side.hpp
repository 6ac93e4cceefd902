// The local side of an interactive session: the user's input and output. All calls are
// non-blocking; the descriptors are borrowed.
#pragma once

#include <poll.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace fastgpu::ssh {

/// Output of the remote side that the local side has not accepted yet.
class Outlet {
 public:
  explicit Outlet(int fd) noexcept : fd_(fd) {}

  bool full() const noexcept;
  bool empty() const noexcept { return waiting_.empty(); }
  void add(std::string_view bytes) { waiting_ += bytes; }
  pollfd wanted() const noexcept { return {waiting_.empty() ? -1 : fd_, POLLOUT, 0}; }

  /// Writes as much as the descriptor accepts now. Throws ErrorKind::local if it is closed.
  void write_ready();

 private:
  int fd_;
  std::string waiting_;
};

/// Local input that the remote side has not accepted yet.
class Inlet {
 public:
  explicit Inlet(int fd) noexcept : fd_(fd) {}

  bool full() const noexcept;
  bool empty() const noexcept { return at_ == waiting_.size(); }
  /// Returns true after the end of the input; waiting() may still have bytes.
  bool ended() const noexcept { return ended_; }
  pollfd wanted() const noexcept { return {ended_ || full() ? -1 : fd_, POLLIN, 0}; }

  /// Returns the input since the last call. The caller then adds the part for the remote side.
  std::string read_ready();
  void add(std::string_view bytes) { waiting_ += bytes; }
  std::string_view waiting() const noexcept { return std::string_view(waiting_).substr(at_); }
  void take(std::size_t size);
  void close();  ///< Call it when the remote side accepts no more input.

 private:
  int fd_;
  std::string waiting_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

}  // namespace fastgpu::ssh
