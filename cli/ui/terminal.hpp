// What the user's side can show: terminals, colours, width.
#pragma once

#include <string_view>

#include "cli/parser.hpp"

namespace fastgpu::cli {

enum class ColorWish : std::uint8_t { automatic, always, never };

struct Terminal {
  bool in = false;
  bool out = false;
  bool err = false;
  bool color_out = false;
  bool color_err = false;
  int width = 0;  ///< Columns of the terminal behind stdout; 0 where it is none.
};

/// Looks at descriptors 0 to 2, NO_COLOR and TERM.
Terminal look_at_terminal(ColorWish wish, const Environment& environment);

enum class Color : std::uint8_t { none, red, green, yellow, blue, magenta, cyan, bold, dim };

/// The escape sequence that begins `color`, "" for none; "\x1b[0m" ends each.
std::string_view escape(Color color) noexcept;
inline constexpr std::string_view kColorEnd = "\x1b[0m";

}  // namespace fastgpu::cli
