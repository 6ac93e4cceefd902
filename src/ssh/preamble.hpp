// What a host's start-up files print before our command runs, told from its answer.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::ssh {

/// A line that no start-up file prints by chance. Different each time.
std::string new_mark();

/// One stream of a command that prints a mark first: what comes before is kept apart.
class Preamble {
 public:
  explicit Preamble(std::string mark) : mark_(std::move(mark)) {}

  /// Returns the part of `piece` that is behind the mark's line; borrowed from it.
  std::string_view behind(std::string_view piece);

  /// Returns true once the mark has come: /bin/sh has begun with our command.
  bool ended() const noexcept { return ended_; }

  /// Returns the beginning of what came before the mark, at most 4 KiB.
  const std::string& text() const noexcept { return text_; }

 private:
  std::string mark_;
  std::string recent_;  // The end of what came, as long as the mark at most.
  std::string text_;
  bool ended_ = false;
  bool wants_newline_ = false;
};

/// Returns the lines of `text` in one line, for a message; empty where there is nothing in them.
std::string in_one_line(std::string_view text);

}  // namespace fastgpu::ssh
