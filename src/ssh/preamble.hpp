// The output of a host's start-up files before our command runs, separated from its answer.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::ssh {

/// Returns a line that no start-up file prints by chance. Each call returns another one.
std::string new_mark();

/// One stream of a command that prints a mark first. The output before the mark is kept apart.
class Preamble {
 public:
  explicit Preamble(std::string mark) : mark_(std::move(mark)) {}

  /// Returns the part of `piece` that is behind the mark's line; borrowed from it.
  std::string_view behind(std::string_view piece);

  /// Returns true after the mark: /bin/sh has begun with our command.
  bool ended() const noexcept { return ended_; }

  /// Returns the beginning of the output before the mark, at most 4 KiB.
  const std::string& text() const noexcept { return text_; }

 private:
  std::string mark_;
  std::string recent_;  // The end of the output, at most as long as the mark.
  std::string text_;
  bool ended_ = false;
  bool wants_newline_ = false;
};

/// Returns the lines of `text` in one line, for a message; empty if they contain no text.
std::string in_one_line(std::string_view text);

}  // namespace fastgpu::ssh
