// The present action: one line that is drawn again and again, or a plain line now and then.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace fastgpu::cli {

enum class ProgressForm : std::uint8_t {
  live,   ///< One line of a terminal, erased by the next output.
  plain,  ///< Suitable for files, pipes and terminals that cannot erase.
};

/// The line itself, without a clock and without a thread. A live line leaves the cursor at its
/// beginning. It can then be erased as a whole, even if the terminal was made narrower and has
/// wrapped it.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  using Write = std::function<void(std::string_view)>;

  Progress(Write write, std::function<std::size_t()> width)
      : write_(std::move(write)), width_(std::move(width)) {}

  void set_form(ProgressForm form) noexcept { form_ = form; }
  void set_ellipsis(std::string_view ellipsis) { ellipsis_ = ellipsis; }

  /// Shows `step`. `figures` change all the time: without a terminal a new step is one line at
  /// once, new figures are a line now and then.
  void show(std::string_view step, std::string_view figures, Clock::time_point now);

  /// Shows that `what` is waited for. Without a terminal it is a line now and then.
  void wait(std::string_view what, Clock::time_point now);

  /// Shows the time that the step has taken. To be called about once a second.
  void tick(Clock::time_point now);

  /// Forgets the step and erases the live line.
  void end();

  /// Erases the live line. It is drawn again by the next call of show() or tick().
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
