#include "cli/ui/ui.hpp"

#include <signal.h>

#include <algorithm>
#include <utility>

namespace fastgpu::cli {
namespace {

/// Blocks signals for the scope: the main thread handles them, because they must end its waits.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

using Guard = std::lock_guard<std::recursive_mutex>;

Ui::Ui(Sink& out, Sink& err, Terminal terminal, std::function<std::string()> read_line)
    : out_(out),
      err_(err),
      terminal_(terminal),
      read_line_(std::move(read_line)),
      progress_(
          [this](std::string_view line) { write_err(line); },
          [this] { return static_cast<std::size_t>(std::max(0, this->terminal().err_width)); }) {
  keep_form();
}

Ui::~Ui() = default;

void Ui::set_terminal(const Terminal& terminal) {
  const Guard guard(mutex_);
  terminal_ = terminal;
  keep_form();
}

void Ui::keep_form() {
  progress_.set_form(terminal_.live ? ProgressForm::live : ProgressForm::plain);
  progress_.set_ellipsis(terminal_.unicode ? "…" : "...");
}

Terminal Ui::terminal() const {
  Terminal now = terminal_;
  if (!measure_) return now;
  const Widths widths = measure_();
  now.width = widths.out;
  now.err_width = widths.err;
  now.rows = widths.rows;
  return now;
}

void Ui::keep_ticking() {
  const WithoutSignals blocked;
  ticker_.emplace(std::chrono::seconds(1), [this] {
    const Guard guard(mutex_);
    if (line_ == Line::whole) progress_.tick(Progress::Clock::now());
  });
}

void Ui::write_err(std::string_view bytes) {
  try {
    err_.write(bytes);
  } catch (const Error&) {  // Stderr is closed: the error cannot be reported.
  }
}

void Ui::close_line() {
  if (std::exchange(line_, Line::whole) == Line::open) write_err("\n");
}

void Ui::write_pending() {
  for (const std::string& line : std::exchange(pending_, {}))
    warn(line);
}

void Ui::say(const Styled& text) {
  write_pending();
  progress_.erase();
  close_line();
  write_err(text.str());
}

void Ui::write_out(std::string_view bytes) {
  write_pending();
  progress_.end();
  answered_ = answered_ || !bytes.empty();
  out_.write(bytes);
}

Printed Ui::printed_now(const View& view) const {
  const auto print = [this](const View& in_order) {
    return print_view(in_order, format_, terminal(), table_style_.titles);
  };
  return table_style_.sort_by.empty() ? print(view) : print(sorted(view, table_style_));
}

void Ui::show(const View& view) {
  const Guard guard(mutex_);
  progress_.end();
  close_line();
  const Printed printed = printed_now(view);
  if (printed.text.empty() && for_people() && !view.when_empty.empty())
    return note(view.when_empty);
  write_out(printed.text.str());
  if (!printed.left_out.empty()) note("-o wide also shows " + printed.left_out);
}

void Ui::redraw(const View& view, std::string_view noun) {
  const Guard guard(mutex_);
  const Detail detail = format_ == Format::wide ? Detail::wide : Detail::usual;
  const Styled text =
      print_screen(sorted(view, table_style_).table, detail, terminal(), noun, table_style_.titles);
  // In one piece: the screen does not flicker.
  write_out(std::string(kEmptyScreen) + text.str());
}

void Ui::show(const Styled& text) {
  const Guard guard(mutex_);
  close_line();
  write_out(text.str());
}

void Ui::data(std::string_view text) {
  const Guard guard(mutex_);
  if (wants_document()) {
    text_ += text;
    return;
  }
  show(Styled{std::string(text)});
}

void Ui::complete(Json document) {
  const Guard guard(mutex_);
  if (!wants_document() || answered_) return;
  if (!text_.empty()) document["text"] = std::exchange(text_, {});
  show(View{.root = std::move(document)});
}

void Ui::error_data(std::string_view text) {
  const Guard guard(mutex_);
  progress_.end();
  say(Styled{std::string(text)});
}

void Ui::note(std::string_view line) {
  const Guard guard(mutex_);
  if (verbosity_ == Verbosity::quiet) return;
  if (line.ends_with('\n')) line.remove_suffix(1);
  Styled text{std::string(line)};
  text += "\n";
  say(text);
}

void Ui::warn(std::string_view line) {
  const Guard guard(mutex_);
  if (line.ends_with('\n')) line.remove_suffix(1);
  Styled text = Styled::painted("warning:", Color::yellow, terminal_.color_err);
  text += " ";
  text += line;
  text += "\n";
  say(text);
}

void Ui::warn_unless_error(std::string_view line) {
  const Guard guard(mutex_);
  pending_.emplace_back(line);
}

void Ui::note_table(const Table& table) {
  if (verbosity_ != Verbosity::quiet) question_table(table);
}

void Ui::question_table(const Table& table) {
  const Guard guard(mutex_);
  if (table.rows.empty()) return;
  Terminal aside = terminal();
  aside.color_out = aside.color_err;
  aside.width = aside.err_width;
  say(print_table(table, Detail::usual, aside).text);
}

void Ui::fail(std::string_view message) {
  const Guard guard(mutex_);
  std::erase_if(pending_,
                [&](const std::string& line) { return message.find(line) != message.npos; });
  progress_.end();
  Styled text = Styled::painted("error:", Color::red, terminal_.color_err);
  text += " ";
  text += message;
  text += "\n";
  say(text);
}

void Ui::program_output(std::string_view bytes) {
  const Guard guard(mutex_);
  if (bytes.empty()) return;
  write_out(bytes);
  if (terminal_.out) line_ = bytes.back() == '\n' ? Line::whole : Line::open;
}

void Ui::program_errors(std::string_view bytes) {
  const Guard guard(mutex_);
  if (bytes.empty()) return;
  write_pending();
  progress_.end();
  write_err(bytes);
  if (terminal_.err) line_ = bytes.back() == '\n' ? Line::whole : Line::open;
}

void Ui::next_steps(const std::vector<std::string>& next) {
  const Guard guard(mutex_);
  if (!for_people() || verbosity_ == Verbosity::quiet) return;
  Styled out("next:");
  for (const std::string& command : next) {
    const bool first = &command == &next.front();
    out += !terminal_.err ? first ? " " : " | " : "\n  ";
    out += Styled::painted(command, Color::dim, terminal_.err && terminal_.color_err);
  }
  out += "\n";
  say(out);
}

void Ui::progress(std::string_view step, std::string_view figures) {
  const Guard guard(mutex_);
  write_pending();
  if (verbosity_ == Verbosity::quiet) return;
  if (line_ == Line::whole) progress_.show(step, figures, Progress::Clock::now());
}

void Ui::waiting(std::string_view what) {
  const Guard guard(mutex_);
  write_pending();
  if (verbosity_ == Verbosity::quiet) return;
  if (line_ == Line::whole) progress_.wait(what, Progress::Clock::now());
}

void Ui::end_progress() {
  const Guard guard(mutex_);
  write_pending();
  progress_.end();
}

void Ui::prompt(std::string_view question) {
  const Guard guard(mutex_);
  progress_.end();
  say(Styled{std::string(question)});
}

bool Ui::confirm(std::string_view question) {
  if (!terminal_.in || !terminal_.err) {
    end_progress();
    throw Error(ErrorKind::usage,
                std::string(question) + " There is no terminal to ask on: use --yes to proceed");
  }
  prompt(std::string(question) + " [y/N] ");
  const std::string answer = read_line_();
  return answer == "y" || answer == "Y" || answer == "yes" || answer == "Yes" || answer == "YES";
}

}  // namespace fastgpu::cli
