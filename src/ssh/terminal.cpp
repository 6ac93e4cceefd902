#include "ssh/terminal.hpp"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>

#include <cerrno>

#include "base/error.hpp"

namespace fastgpu::ssh {
namespace {

sigset_t only_resize() noexcept {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGWINCH);
  return set;
}

}  // namespace

WindowSize window_size(int fd) noexcept {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

RawTerminal::RawTerminal(int fd) : fd_(fd), before_(std::make_unique<termios>()) {
  if (::tcgetattr(fd, before_.get()) != 0)
    throw system_error("reading the terminal's modes", errno);
  termios raw = *before_;
  ::cfmakeraw(&raw);
  if (::tcsetattr(fd, TCSADRAIN, &raw) != 0)
    throw system_error("setting the terminal's modes", errno);
}

RawTerminal::~RawTerminal() {
  ::tcsetattr(fd_, TCSADRAIN, before_.get());
}

ResizeWatch::ResizeWatch() {
  const sigset_t set = only_resize();
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, &set, &before);
  was_blocked_ = sigismember(&before, SIGWINCH) == 1;
  signals_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) throw system_error("watching the window's size", errno);
}

ResizeWatch::~ResizeWatch() {
  const sigset_t set = only_resize();
  if (!was_blocked_) ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace fastgpu::ssh
