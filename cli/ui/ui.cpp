#include "cli/ui/ui.hpp"

#include <utility>

#include "cli/ui/text.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::chrono::milliseconds kRedraw{80};  // Faster than that nobody reads.
constexpr std::string_view kEraseLine = "\r\x1b[K";

}  // namespace

Ui::Ui(Sink& out, Sink& err, Terminal terminal, std::function<std::string()> read_line)
    : out_(out), err_(err), terminal_(terminal), read_line_(std::move(read_line)) {}

void Ui::say(std::string_view text) {
  try {
    err_.write(text);
  } catch (const Error&) {  // With stderr gone there is nobody left to tell.
  }
}

void Ui::show(const View& view) {
  end_progress();
  const std::string text = print_view(view, format_, terminal_);
  if (text.empty() && for_people() && !view.when_empty.empty()) return note(view.when_empty);
  out_.write(text);
}

void Ui::data(std::string_view bytes) {
  if (!live_.empty()) end_progress();
  out_.write(bytes);
}

void Ui::error_data(std::string_view bytes) {
  if (!live_.empty()) end_progress();
  say(bytes);
}

void Ui::note(std::string_view line) {
  if (chatter_ == Chatter::quiet) return;
  end_progress();
  say(std::string(line) + "\n");
}

void Ui::note_table(const Table& table) {
  if (chatter_ != Chatter::quiet) question_table(table);
}

void Ui::question_table(const Table& table) {
  if (table.rows.empty()) return;
  end_progress();
  Terminal aside = terminal_;
  aside.color_out = terminal_.color_err;
  if (!terminal_.err) aside.width = 0;
  say(print_table(table, Detail::usual, aside));
}

void Ui::warn(std::string_view line) {
  end_progress();
  const bool colored = terminal_.color_err;
  say((colored ? std::string(escape(Color::yellow)) : "") +
      "warning:" + (colored ? std::string(kColorEnd) : "") + " " + std::string(line) + "\n");
}

void Ui::next_steps(const std::vector<std::string>& next) {
  if (!for_people()) return;
  std::string out = "next:";
  for (const std::string& command : next) {
    const bool first = &command == &next.front();
    if (!terminal_.err)
      out += (first ? " " : " | ") + command;
    else if (terminal_.color_err)
      out += "\n  " + std::string(escape(Color::dim)) + command + std::string(kColorEnd);
    else
      out += "\n  " + command;
  }
  note(out);
}

void Ui::progress(std::string_view line) {
  if (chatter_ == Chatter::quiet || line == live_) return;
  if (!terminal_.err) {
    live_ = line;
    return say(std::string(line) + "\n");
  }
  const auto now = std::chrono::steady_clock::now();
  if (!live_.empty() && now - drawn_ < kRedraw) return;
  drawn_ = now;
  live_ = line;
  const std::size_t width =
      terminal_.width > 1 ? static_cast<std::size_t>(terminal_.width) - 1 : 79;
  say(std::string(kEraseLine) + cut_to_width(line, width));
}

void Ui::end_progress() {
  if (live_.empty()) return;
  live_.clear();
  if (terminal_.err) say(kEraseLine);
}

bool Ui::confirm(std::string_view question) {
  end_progress();
  if (!terminal_.in || !terminal_.err)
    throw Error(ErrorKind::usage,
                std::string(question) + " There is no terminal to ask on: give --yes to go ahead");
  say(std::string(question) + " [y/N] ");
  const std::string answer = read_line_();
  return answer == "y" || answer == "Y" || answer == "yes" || answer == "Yes" || answer == "YES";
}

}  // namespace fastgpu::cli
