// Separates the output of a host's startup files from the output of our command.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::ssh {

/// Returns a line that no startup file prints by chance. Each call returns a different one.
std::string new_mark();

/// Returns the commands of /bin/sh that print the marks of its two outputs, each on a line of its
/// own. A start-up file may have printed the beginning of a line. The mark goes to stderr first.
std::string print_marks(const std::string& out, const std::string& err);

/// One output stream of a command that prints a mark first. The output before the mark is kept
/// apart. The mark is at the beginning of a line: a shell that shows its commands (`set -x`, a
/// DEBUG trap) has it elsewhere.
class Preamble {
 public:
  explicit Preamble(const std::string& mark) : mark_("\n" + mark) {}

  /// Returns the part of `piece` after the mark's line; borrowed from `piece`.
  std::string_view behind(std::string_view piece);

  /// Returns true after the mark: /bin/sh has started our command.
  bool ended() const noexcept { return ended_; }

  /// Returns the beginning of the output before the mark, at most 4 KiB.
  const std::string& text() const noexcept { return text_; }

 private:
  // The mark with the end of the line before.
  std::string mark_;
  std::string recent_;  // The last bytes of the output, at most as many as the mark has.
  std::string text_;
  bool ended_ = false;
  bool wants_newline_ = false;
};

/// Returns the lines of `text` joined to one line, for a message; empty if they have no text.
std::string in_one_line(std::string_view text);

}  // namespace fastgpu::ssh
