// The local terminal: its size, and its raw mode during a session.
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
  std::string modes{};         ///< The result of terminal_modes(); empty for the defaults.
};

/// Returns the modes of the terminal behind `fd` (such as its erase key, and whether it uses UTF-8)
/// in the encoding of RFC 4254; "" if `fd` is not a terminal. Call it before the terminal is set to
/// raw mode.
std::string terminal_modes(int fd);

/// Returns the size of the terminal behind `fd`; 80 by 24 if it is unknown.
WindowSize window_size(int fd) noexcept;

/// Sets the terminal to raw mode, so that every key can be passed to the remote side. The
/// destructor restores the modes.
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

/// Owns a descriptor that becomes readable when the window's size changes. While the object lives,
/// blocks SIGWINCH in this thread and in those that it starts.
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
