// The current action: one line that is redrawn on a terminal, or plain lines from time to time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace fastgpu::cli {

enum class ProgressForm : std::uint8_t {
  live,   ///< One line of a terminal that is redrawn, and erased before other output.
  plain,  ///< Plain lines, for files, pipes and terminals that cannot erase.
};

/// Draws the progress line. The caller passes the time, and no thread is needed. A live line leaves
/// the cursor at its beginning, so that it can be erased even after the terminal was made narrower
/// and has wrapped it.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  using Write = std::function<void(std::string_view)>;

  Progress(Write write, std::function<std::size_t()> width)
      : write_(std::move(write)), width_(std::move(width)) {}

  void set_form(ProgressForm form) noexcept { form_ = form; }
  void set_ellipsis(std::string_view ellipsis) { ellipsis_ = ellipsis; }

  /// Shows `step` and its changing figures, such as bytes. In the plain form, a new step is shown
  /// at once and new figures only from time to time.
  void show(std::string_view step, std::string_view figures, Clock::time_point now);

  /// Shows that the program waits for `what`. In the plain form, a line appears only from time to
  /// time.
  void wait(std::string_view what, Clock::time_point now);

  /// Updates the duration of the step. The caller calls this about once a second.
  void tick(Clock::time_point now);

  /// Forgets the step and erases the live line.
  void end();

  /// Erases the live line. The next call of show() or tick() draws it again.
  void erase();

  bool is_shown() const noexcept { return drawn_; }

 private:
  std::string text(Clock::time_point now) const;
  bool begin(std::string_view step, std::string_view figures, Clock::time_point now);
  void refresh(Clock::time_point now);
  void draw(Clock::time_point now);
  void print(Clock::time_point now);

  Write write_;
  std::function<std::size_t()> width_;
  ProgressForm form_ = ProgressForm::plain;
  std::string ellipsis_ = "...";
  std::string step_;
  std::string figures_;
  bool drawn_ = false;         ///< The live line is on the screen.
  std::string last_;           ///< The text that was drawn or printed last.
  Clock::time_point began_{};  ///< The start of the step.
  Clock::time_point shown_{};  ///< The time of the last line.
};

}  // namespace fastgpu::cli
