#include "cli/ui/progress.hpp"

#include "base/units.hpp"
#include "base/utf8.hpp"
#include "cli/ui/text.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::chrono::milliseconds kRedraw{80};  // A faster change is not visible.
constexpr std::chrono::seconds kPlainInterval{15};
constexpr std::chrono::seconds kWorthCounting{2};

/// Returns the sequence that erases a line of `columns` columns. The cursor must be at its
/// beginning. If the terminal was made narrower, the line may have wrapped; a line that has not
/// wrapped loses nothing above it. A sequence that erases everything below would be shorter, but
/// makes tmux keep the text at the top of its window.
std::string erased(std::size_t columns, std::size_t width) {
  std::string out = "\r\x1b[K";
  if (width == 0 || columns <= width) return out;
  out += "\x1b\x37";  // Saves the cursor.
  for (std::size_t row = width; row < columns; row += width)
    out += "\x1b[B\x1b[K";
  return out + "\x1b\x38";
}

}  // namespace

std::string Progress::text(Clock::time_point now) const {
  if (!figures_.empty()) return step_ + ": " + figures_;
  const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(now - began_);
  if (elapsed < kWorthCounting) return step_;
  return step_ + " (" + to_string(std::chrono::milliseconds(elapsed)) + ")";
}

/// Stores `step` and its figures. Returns true if `step` is a new one.
bool Progress::begin(std::string_view step, std::string_view figures, Clock::time_point now) {
  const std::string wanted = escaped(step, Layout::one_line);
  const bool is_new = wanted != step_;
  figures_ = escaped(figures, Layout::one_line);
  if (!is_new) return false;
  step_ = wanted;
  began_ = now;
  shown_ = now - (form_ == ProgressForm::live ? kPlainInterval : std::chrono::seconds(0));
  return true;
}

void Progress::refresh(Clock::time_point now) {
  if (form_ == ProgressForm::plain) return tick(now);
  if (!drawn_ || now - shown_ >= kRedraw) draw(now);
}

void Progress::show(std::string_view step, std::string_view figures, Clock::time_point now) {
  const bool is_new = begin(step, figures, now);
  if (form_ == ProgressForm::plain && is_new && figures_.empty()) return print(now);
  refresh(now);
}

void Progress::wait(std::string_view what, Clock::time_point now) {
  begin(what, "", now);
  refresh(now);
}

void Progress::tick(Clock::time_point now) {
  if (step_.empty()) return;
  if (form_ == ProgressForm::live) return draw(now);
  if (now - shown_ >= kPlainInterval) print(now);
}

void Progress::draw(Clock::time_point now) {
  const std::size_t width = width_();
  shown_ = now;
  if (width <= 1) return;  // The line has no room, or we are in the background.
  const std::string line = cut_to_width(text(now), width - 1, ellipsis_);
  if (drawn_ && line == last_) return;
  write_(erased(drawn_ ? display_width(last_) : 0, width) + line + "\r");
  drawn_ = true;
  last_ = line;
}

void Progress::print(Clock::time_point now) {
  shown_ = now;
  write_(text(now) + "\n");
}

void Progress::erase() {
  if (drawn_) write_(erased(display_width(last_), width_()));
  drawn_ = false;
}

void Progress::end() {
  erase();
  step_.clear();
  figures_.clear();
}

}  // namespace fastgpu::cli
