// The output of a command: data to stdout, everything else to stderr.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/periodic_thread.hpp"
#include "cli/ui/progress.hpp"
#include "cli/ui/sink.hpp"
#include "cli/ui/styled.hpp"
#include "cli/ui/terminal.hpp"
#include "cli/ui/view.hpp"

namespace fastgpu::cli {

enum class Verbosity : std::uint8_t { normal, quiet };

/// The only way for text to the user's terminal. It escapes everything that controls a terminal,
/// except for program_output() and program_errors(), which pass bytes on unchanged. Thread-safe.
class Ui {
 public:
  /// `read_line` returns one line of standard input without its line end, or "" at the end of the
  /// input.
  Ui(Sink& out, Sink& err, Terminal terminal, std::function<std::string()> read_line);
  ~Ui();
  Ui(const Ui&) = delete;
  Ui& operator=(const Ui&) = delete;

  void set_format(Format format) noexcept { format_ = format; }
  /// Sets the form of the tables that follow.
  void set_table_style(TableStyle request) { table_style_ = std::move(request); }
  void set_verbosity(Verbosity verbosity) noexcept { verbosity_ = verbosity; }
  void set_terminal(const Terminal& terminal);
  /// Sets a function that measures the terminals before each output, because a terminal may be
  /// resized.
  void measure_by(std::function<Widths()> measure) { measure_ = std::move(measure); }
  /// Starts a thread that updates the duration in progress().
  void keep_ticking();

  Format format() const noexcept { return format_; }
  /// Returns true for the formats that people read: table and wide.
  bool for_people() const noexcept { return format_ == Format::table || format_ == Format::wide; }
  /// Returns the present properties of the terminal.
  Terminal terminal() const;
  /// Returns true if stdout must have exactly one document: JSON or YAML.
  bool wants_document() const noexcept {
    return format_ == Format::json || format_ == Format::yaml;
  }
  /// Returns true if a table is shown with its wide columns, or sorted by a column, which may be
  /// one of them.
  bool wants_wide_columns() const noexcept {
    return format_ == Format::wide || !table_style_.sort_by.empty();
  }
  /// Returns true if anything has been written to stdout.
  bool has_answered() const noexcept { return answered_; }
  /// Reserves stdout for a program: complete() adds nothing to it from now on.
  void give_stdout_away() noexcept { answered_ = true; }
  /// Shows `document` under -o json and -o yaml if the command has shown no other one, so that
  /// every command shows a document. The text from data() becomes its field "text".
  void complete(Json document);

  void show(const View& view);
  /// Shows `view` in place of all that the screen has. Rows that have no room on the screen are
  /// left out and counted, as `noun` names one. Only for a terminal that is `live`.
  void redraw(const View& view, std::string_view noun);
  void show(const Styled& text);           ///< Writes to stdout.
  void data(std::string_view text);        ///< Writes to stdout, escaped; see complete().
  void error_data(std::string_view text);  ///< Writes to stderr, escaped, always.
  void note(std::string_view line);        ///< Writes to stderr; --quiet drops it.
  void warn(std::string_view line);        ///< Writes to stderr, always.
  /// Writes a warning to stderr before the next output, or at the end of the command. An error that
  /// says the same takes its place.
  void warn_unless_error(std::string_view line);
  void note_table(const Table& table);      ///< Writes to stderr; --quiet drops it.
  void question_table(const Table& table);  ///< Writes the subject of a question to stderr, always.
  void fail(std::string_view message);      ///< Writes "error: ..." to stderr, always.
  /// Writes a user program's bytes unchanged, because such a program may control the terminal.
  void program_output(std::string_view bytes);
  void program_errors(std::string_view bytes);
  /// Suggests commands to run next, only in the formats for people. On a terminal each has a line
  /// of its own, elsewhere all are on one line.
  void next_steps(const std::vector<std::string>& next);

  /// Shows the current action and its duration. On a terminal this is one live line; elsewhere it
  /// is one plain line per step, and one from time to time. `figures` are values that change all
  /// the time, such as bytes.
  void progress(std::string_view step, std::string_view figures = {});
  /// Shows a wait that may be short: without a terminal, the first line appears only after some
  /// time.
  void waiting(std::string_view what);
  void end_progress();

  /// Shows a question whose answer the caller reads.
  void prompt(std::string_view question);
  /// Asks a yes-or-no question, whose default answer is no. Throws ErrorKind::usage, naming --yes,
  /// without a terminal.
  bool confirm(std::string_view question);

 private:
  enum class Line : std::uint8_t { whole, open };

  Printed printed_now(const View& view) const;

  void say(const Styled& text);
  void write_pending();
  void write_out(std::string_view bytes);
  void close_line();
  void write_err(std::string_view bytes);
  void keep_form();

  Sink& out_;
  Sink& err_;
  Terminal terminal_;
  std::function<std::string()> read_line_;
  std::function<Widths()> measure_;
  Format format_ = Format::table;
  TableStyle table_style_;
  Verbosity verbosity_ = Verbosity::normal;
  bool answered_ = false;
  std::vector<std::string> pending_;  ///< The warnings of warn_unless_error().
  std::string text_;                  ///< The text from data(), kept for complete().
  /// Whether the last line is unfinished: a program may not have ended its line.
  Line line_ = Line::whole;
  Progress progress_;
  mutable std::recursive_mutex mutex_;
  std::optional<PeriodicThread> ticker_;  // The last member: the thread uses all others.
};

}  // namespace fastgpu::cli
