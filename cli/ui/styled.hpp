// Text that is safe for a terminal: only fastgpu itself can control the terminal with it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/ui/terminal.hpp"

namespace fastgpu::cli {

/// A text whose control characters are escaped, except for line ends, tabs and the colours of
/// painted(). Ui writes nothing else to a terminal, apart from the output of programs.
class Styled {
 public:
  Styled() = default;
  explicit Styled(std::string plain);

  /// Returns `plain` in `color` if `colored`.
  static Styled painted(std::string_view plain, Color color, bool colored);

  Styled& operator+=(const Styled& more);
  Styled& operator+=(std::string_view plain);
  void add_painted(std::string_view plain, Color color, bool colored);
  void add_blanks(std::size_t count);

  /// Returns the text with `blanks` blanks before each line.
  Styled indented(std::size_t blanks) const;

  const std::string& str() const noexcept { return text_; }
  bool empty() const noexcept { return text_.empty(); }

 private:
  std::string text_;
};

}  // namespace fastgpu::cli
