// The user's side of a command: stdout for data, stderr for all that is said beside it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/ui/sink.hpp"
#include "cli/ui/terminal.hpp"
#include "cli/ui/view.hpp"

namespace fastgpu::cli {

enum class Chatter : std::uint8_t { usual, quiet };

class Ui {
 public:
  /// `read_line` gives one line of standard input without its end, "" at the end of input.
  Ui(Sink& out, Sink& err, Terminal terminal, std::function<std::string()> read_line);

  void set_format(Format format) noexcept { format_ = format; }
  void set_chatter(Chatter chatter) noexcept { chatter_ = chatter; }
  void set_terminal(const Terminal& terminal) noexcept { terminal_ = terminal; }
  Format format() const noexcept { return format_; }
  /// Whether people read along: table or wide output.
  bool for_people() const noexcept { return format_ == Format::table || format_ == Format::wide; }
  const Terminal& terminal() const noexcept { return terminal_; }

  void show(const View& view);
  void data(std::string_view bytes);        ///< To stdout as they are.
  void error_data(std::string_view bytes);  ///< To stderr as they are: a program's own errors.
  void note(std::string_view line);         ///< To stderr; --quiet drops it.
  void warn(std::string_view line);         ///< To stderr, always.
  void note_table(const Table& table);      ///< To stderr; --quiet drops it.
  void question_table(const Table& table);  ///< To stderr, always: what a question is about.
  /// What one may want to do next, only for people: a command a line on a terminal, all of them on
  /// one line elsewhere.
  void next_steps(const std::vector<std::string>& next);

  /// What is going on now: one live line on a terminal, a plain line for each change elsewhere.
  void progress(std::string_view line);
  void end_progress();

  /// Asks a yes-or-no question; no is the default. Without a terminal throws ErrorKind::usage,
  /// naming --yes.
  bool confirm(std::string_view question);

 private:
  void say(std::string_view text);

  Sink& out_;
  Sink& err_;
  Terminal terminal_;
  std::function<std::string()> read_line_;
  Format format_ = Format::table;
  Chatter chatter_ = Chatter::usual;
  std::string live_;  ///< What the live line shows; empty while there is none.
  std::chrono::steady_clock::time_point drawn_{};
};

}  // namespace fastgpu::cli
