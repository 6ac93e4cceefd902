// The terminal on our side: raw while a session has it, and its size.
#pragma once

#include <memory>
#include <string>

#include "base/unique_fd.hpp"

struct termios;

namespace fastgpu::ssh {

struct WindowSize {
  int columns = 80;
  int rows = 24;
};

struct TerminalKind {
  std::string type = "xterm";  ///< "xterm-256color"
  std::string modes{};         ///< As terminal_modes() gives them; empty for the usual ones.
};

/// The modes of the terminal behind `fd` (its erase key, whether it speaks UTF-8) as RFC 4254
/// encodes them; "" where it is none. To be asked before it is made raw.
std::string terminal_modes(int fd);

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
