#include "cli/ui/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

namespace fastgpu::cli {
namespace {

constexpr int kUsualWidth = 80;

int width_of(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualWidth;
  return size.ws_col;
}

bool colors_refused(const Environment& environment) {
  if (!environment("NO_COLOR").value_or("").empty()) return true;
  return environment("TERM").value_or("dumb") == "dumb";
}

}  // namespace

Terminal look_at_terminal(ColorWish wish, const Environment& environment) {
  Terminal out;
  out.in = ::isatty(STDIN_FILENO) == 1;
  out.out = ::isatty(STDOUT_FILENO) == 1;
  out.err = ::isatty(STDERR_FILENO) == 1;
  if (out.out) out.width = width_of(STDOUT_FILENO);
  const bool refused =
      wish == ColorWish::never || (wish == ColorWish::automatic && colors_refused(environment));
  out.color_out = !refused && (out.out || wish == ColorWish::always);
  out.color_err = !refused && (out.err || wish == ColorWish::always);
  return out;
}

std::string_view escape(Color color) noexcept {
  switch (color) {
    case Color::none:
      return "";
    case Color::red:
      return "\x1b[31m";
    case Color::green:
      return "\x1b[32m";
    case Color::yellow:
      return "\x1b[33m";
    case Color::blue:
      return "\x1b[34m";
    case Color::magenta:
      return "\x1b[35m";
    case Color::cyan:
      return "\x1b[36m";
    case Color::bold:
      return "\x1b[1m";
    case Color::dim:
      return "\x1b[2m";
  }
  return "";
}

}  // namespace fastgpu::cli
