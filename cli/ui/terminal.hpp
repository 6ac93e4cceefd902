// The abilities of the user's side: terminals, colours, width.
#pragma once

#include <string_view>

#include "state/directory.hpp"

namespace fastgpu::cli {

enum class ColorChoice : std::uint8_t { automatic, always, never };

/// Columns of the terminals behind stdout and stderr; 0 for anything else.
struct Widths {
  int out = 0;
  int err = 0;
};

struct Terminal {
  bool in = false;
  bool out = false;
  bool err = false;
  bool shared = false;  ///< stdout and stderr go to one place.
  bool color_out = false;
  bool color_err = false;
  int width = 0;         ///< Columns of the terminal behind stdout; 0 for anything else.
  int err_width = 0;     ///< Columns of the terminal behind stderr; 0 for anything else.
  bool live = false;     ///< A line on stderr can be erased and drawn again.
  bool unicode = false;  ///< The locale has UTF-8.
};

/// Examines descriptors 0 to 2, NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM and the locale.
Terminal look_at_terminal(ColorChoice wish, const state::Environment& environment);

/// Measures the present terminals.
Widths measure_terminals();

enum class Color : std::uint8_t { none, red, green, yellow, blue, magenta, cyan, bold, dim };

/// Returns the escape sequence that begins `color`, "" for none; "\x1b[0m" ends each.
std::string_view escape(Color color) noexcept;
inline constexpr std::string_view kColorEnd = "\x1b[0m";

/// The terminal of a program with these descriptors and variables. Pure, for look_at_terminal().
struct Descriptors {
  bool in = false;
  bool out = false;
  bool err = false;
  bool shared = false;
};
Terminal terminal_of(const Descriptors& terminals, const Widths& widths, ColorChoice wish,
                     const state::Environment& environment);

}  // namespace fastgpu::cli
