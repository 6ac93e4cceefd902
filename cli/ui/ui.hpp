// The user's side of a command: stdout for data, stderr for everything else.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/ui/progress.hpp"
#include "cli/ui/sink.hpp"
#include "cli/ui/styled.hpp"
#include "cli/ui/terminal.hpp"
#include "cli/ui/view.hpp"

namespace fastgpu::cli {

enum class Verbosity : std::uint8_t { normal, quiet };

/// The one place where text reaches the user's terminal. Everything that steers a terminal is
/// escaped here, from any source; only program_output() and program_errors() pass bytes on. May be
/// used by several threads.
class Ui {
 public:
  /// Takes `read_line`, which returns one line of standard input without its end, "" at the end of
  /// input.
  Ui(Sink& out, Sink& err, Terminal terminal, std::function<std::string()> read_line);
  ~Ui();
  Ui(const Ui&) = delete;
  Ui& operator=(const Ui&) = delete;

  void set_format(Format format) noexcept { format_ = format; }
  /// Sets the form of later tables.
  void set_table_style(TableStyle wish) { table_style_ = std::move(wish); }
  void set_verbosity(Verbosity verbosity) noexcept { verbosity_ = verbosity; }
  void set_terminal(const Terminal& terminal);
  /// Sets a function that measures the widths before anything is drawn: a terminal may be resized.
  void measure_by(std::function<Widths()> measure) { measure_ = std::move(measure); }
  /// Starts a thread that keeps the time in progress() moving.
  void keep_ticking();

  Format format() const noexcept { return format_; }
  /// Returns true if people read along: table or wide output.
  bool for_people() const noexcept { return format_ == Format::table || format_ == Format::wide; }
  /// Returns the present terminal.
  Terminal terminal() const;
  /// Returns true if stdout must have only one document: JSON or YAML.
  bool wants_document() const noexcept {
    return format_ == Format::json || format_ == Format::yaml;
  }
  /// Returns true if anything was written to stdout.
  bool has_answered() const noexcept { return answered_; }
  /// Leaves stdout to a program: complete() adds nothing to it from now on.
  void give_stdout_away() noexcept { answered_ = true; }
  /// Shows `document` under -o json and -o yaml, if the command has shown none, so that every
  /// command answers with one. The text from data() is its field "text".
  void complete(Json document);

  void show(const View& view);
  void show(const Styled& text);            ///< Writes to stdout.
  void data(std::string_view text);         ///< Writes to stdout, escaped; see complete().
  void error_data(std::string_view text);   ///< Writes to stderr, escaped, always.
  void note(std::string_view line);         ///< Writes to stderr; --quiet drops it.
  void warn(std::string_view line);         ///< Writes to stderr, always.
  void note_table(const Table& table);      ///< Writes to stderr; --quiet drops it.
  void question_table(const Table& table);  ///< Writes the subject of a question to stderr, always.
  void fail(std::string_view message);      ///< Writes "error: ..." to stderr, always.
  /// Passes on the bytes of a program that the user runs, unchanged: such a program may steer the
  /// terminal.
  void program_output(std::string_view bytes);
  void program_errors(std::string_view bytes);
  /// Shows possible next commands, only for people: a command a line on a terminal, all of them on
  /// one line elsewhere.
  void next_steps(const std::vector<std::string>& next);

  /// Shows the present action and its duration: one live line on a terminal, elsewhere a plain line
  /// for each step and one now and then. `figures` change all the time, such as bytes.
  void progress(std::string_view step, std::string_view figures = {});
  /// Shows a wait that may be over at once: without a terminal there is no line at the beginning.
  void waiting(std::string_view what);
  void end_progress();

  /// Asks for a line that the caller reads.
  void prompt(std::string_view question);
  /// Asks a yes-or-no question; no is the default. Without a terminal throws ErrorKind::usage,
  /// naming --yes.
  bool confirm(std::string_view question);

 private:
  enum class Line : std::uint8_t { whole, open };

  void say(const Styled& text);
  void write_out(std::string_view bytes);
  void close_line();
  void write_err(std::string_view bytes);
  void keep_form();
  void run_ticker(const std::stop_token& stop);

  Sink& out_;
  Sink& err_;
  Terminal terminal_;
  std::function<std::string()> read_line_;
  std::function<Widths()> measure_;
  Format format_ = Format::table;
  TableStyle table_style_;
  Verbosity verbosity_ = Verbosity::normal;
  bool answered_ = false;
  std::string text_;         ///< The text of data(), while it waits for complete().
  Line line_ = Line::whole;  ///< The state of the terminal's line: a program may not have ended it.
  Progress progress_;
  mutable std::recursive_mutex mutex_;
  std::condition_variable_any woken_;
  std::jthread ticker_;  // The last member: it uses all others.
};

}  // namespace fastgpu::cli
