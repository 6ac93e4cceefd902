// The properties of the user's terminals: colours, widths, UTF-8.
#pragma once

#include <string_view>

#include "state/directory.hpp"

namespace fastgpu::cli {

enum class ColorChoice : std::uint8_t { automatic, always, never };

/// The widths in columns of the terminals behind stdout and stderr, and the height in rows of that
/// behind stdout; 0 without a terminal.
struct Widths {
  int out = 0;
  int err = 0;
  int rows = 0;
};

struct Terminal {
  bool in = false;
  bool out = false;
  bool err = false;
  bool shared = false;  ///< True if stdout and stderr go to the same place.
  bool color_out = false;
  bool color_err = false;
  int width = 0;         ///< The width of the terminal behind stdout in columns; 0 without one.
  int rows = 0;          ///< The height of the terminal behind stdout; 0 without one.
  int err_width = 0;     ///< The width of the terminal behind stderr in columns; 0 without one.
  bool live = false;     ///< True if a line on stderr can be erased and redrawn.
  bool unicode = false;  ///< True if the locale uses UTF-8.
};

/// Returns the properties, from descriptors 0 to 2, NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM and
/// the locale.
Terminal look_at_terminal(ColorChoice request, const state::Environment& environment);

/// Returns the present sizes of the terminals.
Widths measure_terminals();

enum class Color : std::uint8_t { none, red, green, yellow, blue, magenta, cyan, bold, dim };

/// Returns the escape sequence that begins `color`; "" for Color::none. kColorEnd ends a colour.
std::string_view escape(Color color) noexcept;
inline constexpr std::string_view kColorEnd = "\x1b[0m";
/// Moves to the beginning of a screen, and empties it.
inline constexpr std::string_view kEmptyScreen = "\x1b[H\x1b[2J";

/// The facts about descriptors 0 to 2 from which terminal_of() computes the properties.
struct Descriptors {
  bool in = false;
  bool out = false;
  bool err = false;
  bool shared = false;
};
Terminal terminal_of(const Descriptors& terminals, const Widths& widths, ColorChoice request,
                     const state::Environment& environment);

}  // namespace fastgpu::cli
