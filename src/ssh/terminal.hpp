// The terminal on our side: raw while a session has it, and its size.
#pragma once

#include <memory>

#include "base/unique_fd.hpp"

struct termios;

namespace fastgpu::ssh {

struct WindowSize {
  int columns = 80;
  int rows = 24;
};

/// The size of the terminal behind `fd`, or 80 by 24.
WindowSize window_size(int fd) noexcept;

/// Every key goes to the far end while this lives; the modes are restored after.
class RawTerminal {
 public:
  /// Throws ErrorKind::local where `fd` is no terminal.
  explicit RawTerminal(int fd);
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal();

 private:
  int fd_;
  std::unique_ptr<termios> before_;
};

/// A descriptor that is readable after a change of the window's size. Blocks SIGWINCH in this
/// thread, and so in those that it starts, while it lives.
class ResizeWatch {
 public:
  ResizeWatch();
  ResizeWatch(const ResizeWatch&) = delete;
  ResizeWatch& operator=(const ResizeWatch&) = delete;
  ~ResizeWatch();

  int fd() const noexcept { return signals_.get(); }

 private:
  bool was_blocked_ = false;
  UniqueFd signals_;
};

}  // namespace fastgpu::ssh
