#include "ssh/terminal.hpp"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "ssh/wire.hpp"

namespace fastgpu::ssh {
namespace {

sigset_t only_resize() noexcept {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGWINCH);
  return set;
}

// Numbers of RFC 4254, section 8, and of RFC 8160.
constexpr std::uint8_t kEndOfModes = 0;
constexpr std::uint8_t kInputSpeed = 128;
constexpr std::uint8_t kOutputSpeed = 129;
constexpr std::uint32_t kNoKey = 255;
constexpr std::uint32_t kSpeed = 38'400;

constexpr std::array<std::pair<std::uint8_t, int>, 14> kKeys = {{
    {1, VINTR},
    {2, VQUIT},
    {3, VERASE},
    {4, VKILL},
    {5, VEOF},
    {6, VEOL},
    {7, VEOL2},
    {8, VSTART},
    {9, VSTOP},
    {10, VSUSP},
    {12, VREPRINT},
    {13, VWERASE},
    {14, VLNEXT},
    {18, VDISCARD},
}};

struct Mode {
  std::uint8_t number;
  tcflag_t termios::*flags;
  tcflag_t bit;
};

constexpr std::array kModes = {
    Mode{30, &termios::c_iflag, IGNPAR},  Mode{31, &termios::c_iflag, PARMRK},
    Mode{32, &termios::c_iflag, INPCK},   Mode{33, &termios::c_iflag, ISTRIP},
    Mode{34, &termios::c_iflag, INLCR},   Mode{35, &termios::c_iflag, IGNCR},
    Mode{36, &termios::c_iflag, ICRNL},   Mode{38, &termios::c_iflag, IXON},
    Mode{39, &termios::c_iflag, IXANY},   Mode{40, &termios::c_iflag, IXOFF},
    Mode{41, &termios::c_iflag, IMAXBEL}, Mode{42, &termios::c_iflag, IUTF8},
    Mode{50, &termios::c_lflag, ISIG},    Mode{51, &termios::c_lflag, ICANON},
    Mode{53, &termios::c_lflag, ECHO},    Mode{54, &termios::c_lflag, ECHOE},
    Mode{55, &termios::c_lflag, ECHOK},   Mode{56, &termios::c_lflag, ECHONL},
    Mode{57, &termios::c_lflag, NOFLSH},  Mode{58, &termios::c_lflag, TOSTOP},
    Mode{59, &termios::c_lflag, IEXTEN},  Mode{60, &termios::c_lflag, ECHOCTL},
    Mode{61, &termios::c_lflag, ECHOKE},  Mode{70, &termios::c_oflag, OPOST},
    Mode{72, &termios::c_oflag, ONLCR},   Mode{73, &termios::c_oflag, OCRNL},
    Mode{74, &termios::c_oflag, ONOCR},   Mode{75, &termios::c_oflag, ONLRET},
    Mode{91, &termios::c_cflag, CS8},
};

void put_mode(std::string& out, std::uint8_t number, std::uint32_t value) {
  out += static_cast<char>(number);
  put_u32(out, value);
}

}  // namespace

std::string terminal_modes(int fd) {
  std::string out;
  termios now{};
  if (::tcgetattr(fd, &now) != 0) return out;
  put_mode(out, kInputSpeed, kSpeed);
  put_mode(out, kOutputSpeed, kSpeed);
  for (const auto& [number, index] : kKeys)
    put_mode(out, number, now.c_cc[index] == _POSIX_VDISABLE ? kNoKey : now.c_cc[index]);
  for (const Mode& mode : kModes)
    put_mode(out, mode.number, (now.*mode.flags & mode.bit) == mode.bit ? 1 : 0);
  out += static_cast<char>(kEndOfModes);
  return out;
}

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
