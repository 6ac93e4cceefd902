// Our side of an interactive session: what comes in from the user, and what goes out. Nothing here
// blocks; the descriptors are borrowed.
#pragma once

#include <poll.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace fastgpu::ssh {

/// Output of the far end that our side has not taken yet.
class Outlet {
 public:
  explicit Outlet(int fd) noexcept : fd_(fd) {}

  bool full() const noexcept;
  bool empty() const noexcept { return waiting_.empty(); }
  void add(std::string_view bytes) { waiting_ += bytes; }
  pollfd wanted() const noexcept { return {waiting_.empty() ? -1 : fd_, POLLOUT, 0}; }

  /// Writes what is taken at once. Throws ErrorKind::local where the descriptor is closed.
  void write_ready();

 private:
  int fd_;
  std::string waiting_;
};

/// Input of our side that the far end has not taken yet.
class Inlet {
 public:
  explicit Inlet(int fd) noexcept : fd_(fd) {}

  bool full() const noexcept;
  bool empty() const noexcept { return at_ == waiting_.size(); }
  /// No more will come; what waits is still to be taken.
  bool ended() const noexcept { return ended_; }
  pollfd wanted() const noexcept { return {ended_ || full() ? -1 : fd_, POLLIN, 0}; }

  /// What has come since the last call, for the caller to add what of it is for the far end.
  std::string read_ready();
  void add(std::string_view bytes) { waiting_ += bytes; }
  std::string_view waiting() const noexcept { return std::string_view(waiting_).substr(at_); }
  void take(std::size_t size);
  void close();  ///< The far end wants no more.

 private:
  int fd_;
  std::string waiting_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

}  // namespace fastgpu::ssh
