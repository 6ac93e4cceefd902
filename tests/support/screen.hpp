// A Ui that writes to strings.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "cli/ui/sink.hpp"
#include "cli/ui/text.hpp"
#include "cli/ui/ui.hpp"

namespace fastgpu::cli {

/// A Ui that writes to strings, with or without a terminal.
struct Screen {
  explicit Screen(const Terminal& terminal)
      : ui(out, err, terminal, [] { return std::string(); }) {}
  StringSink out;
  StringSink err;
  Ui ui;
};

inline Terminal whole_terminal() {
  return {.in = true,
          .out = true,
          .err = true,
          .color_out = true,
          .color_err = true,
          .width = 80,
          .err_width = 80,
          .live = true,
          .unicode = true};
}

inline Terminal at_width(int width) {
  Terminal terminal;
  terminal.width = width;
  return terminal;
}

inline int widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    widest = std::max(widest, display_width(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return static_cast<int>(widest);
}

}  // namespace fastgpu::cli
