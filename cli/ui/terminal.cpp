#include "cli/ui/terminal.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "base/ascii.hpp"

namespace fastgpu::cli {
namespace {

constexpr int kUsualColumns = 80;
constexpr int kUsualRows = 24;

/// Returns the size of a terminal; zeros for anything else.
winsize size_of(int fd) {
  winsize size{};
  if (::isatty(fd) != 1) return size;
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) size = {};
  if (size.ws_col == 0) size.ws_col = kUsualColumns;
  if (size.ws_row == 0) size.ws_row = kUsualRows;
  return size;
}

/// Returns true if both descriptors refer to the same file, pipe or terminal.
bool are_one(int first, int second) {
  struct stat a {};
  struct stat b {};
  return ::fstat(first, &a) == 0 && ::fstat(second, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

/// Returns true if the process is in the background, where a live line would overwrite what the
/// user types.
bool is_in_background() {
  const pid_t foreground = ::tcgetpgrp(STDERR_FILENO);
  return foreground >= 0 && foreground != ::getpgrp();
}

bool is_dumb(const state::Environment& environment) {
  const std::string kind = environment("TERM").value_or("");
  return kind.empty() || kind == "dumb";
}

bool is_set(const state::Environment& environment, const char* name) {
  return !environment(name).value_or("").empty();
}

/// Returns the user's request: NO_COLOR wins over CLICOLOR_FORCE, and both win over CLICOLOR and
/// TERM.
ColorChoice request_of(const state::Environment& environment) {
  if (is_set(environment, "NO_COLOR")) return ColorChoice::never;
  const std::string force = environment("CLICOLOR_FORCE").value_or("");
  if (!force.empty() && force != "0") return ColorChoice::always;
  if (environment("CLICOLOR").value_or("") == "0" || is_dumb(environment))
    return ColorChoice::never;
  return ColorChoice::automatic;
}

bool has_unicode(const state::Environment& environment) {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = ascii_lower(environment(name).value_or(""));
    if (value.empty()) continue;
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

Terminal terminal_of(const Descriptors& terminals, const Widths& widths, ColorChoice request,
                     const state::Environment& environment) {
  if (request == ColorChoice::automatic) request = request_of(environment);
  const bool always = request == ColorChoice::always;
  const bool colored = request != ColorChoice::never;
  return {.in = terminals.in,
          .out = terminals.out,
          .err = terminals.err,
          .shared = terminals.shared,
          .color_out = colored && (terminals.out || always),
          .color_err = colored && (terminals.err || always),
          .width = widths.out,
          .rows = widths.rows,
          .err_width = widths.err,
          .live = terminals.err && !is_dumb(environment),
          .unicode = has_unicode(environment)};
}

Widths measure_terminals() {
  const winsize out = size_of(STDOUT_FILENO);
  const int err = is_in_background() ? 0 : size_of(STDERR_FILENO).ws_col;
  return {.out = out.ws_col, .err = err, .rows = out.ws_row};
}

Terminal look_at_terminal(ColorChoice request, const state::Environment& environment) {
  const Descriptors terminals{.in = ::isatty(STDIN_FILENO) == 1,
                              .out = ::isatty(STDOUT_FILENO) == 1,
                              .err = ::isatty(STDERR_FILENO) == 1,
                              .shared = are_one(STDOUT_FILENO, STDERR_FILENO)};
  return terminal_of(terminals, measure_terminals(), request, environment);
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
