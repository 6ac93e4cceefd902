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
  std::string modes{};         ///< The result of terminal_modes(); empty for the usual ones.
};

/// Returns the modes of the terminal behind `fd` (its erase key, whether it uses UTF-8) as RFC 4254
/// encodes them; "" if `fd` is not a terminal. Call it before the terminal is made raw.
std::string terminal_modes(int fd);

/// Returns the size of the terminal behind `fd`, or 80 by 24.
WindowSize window_size(int fd) noexcept;

/// Passes every key to the far end during its lifetime; the destructor restores the modes.
class RawTerminal {
 public:
  /// Throws ErrorKind::local if `fd` is not a terminal.
  explicit RawTerminal(int fd);
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal();

 private:
  int fd_;
  std::unique_ptr<termios> before_;
};

/// Owns a descriptor that is readable after a change of the window's size. Blocks SIGWINCH in this
/// thread, and so in those that it starts, during its lifetime.
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
