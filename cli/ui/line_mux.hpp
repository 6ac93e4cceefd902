// Merges the lines of many streams on one screen. Each line stays whole and has the prefix of its
// stream.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/ui/styled.hpp"

namespace fastgpu::cli {

class Sink;

/// Merges lines of streams. A line is written in one piece, however long, while the unfinished
/// lines of all streams together have at most kMostHeld bytes. Beyond that, the beginning of a line
/// of more than 64 KiB is written before its end has arrived, to bound the memory. If another
/// stream then writes, the line is broken there and continues under its prefix.
///
/// Colours that a program leaves on at the end of a line do not reach other lines; its own next
/// line has them again.
///
/// A line with carriage returns, such as a progress bar, is written as it comes, with the prefix
/// after each return. If the line of another stream is open, such a bar breaks it at most once a
/// second.
class LineMux {
 public:
  static constexpr std::size_t kMostHeld = std::size_t{64} << 20U;

  using Stream = std::size_t;
  using Clock = std::chrono::steady_clock;

  /// The stream whose line is open at the end of the screen. Two objects that write to one terminal
  /// share it.
  struct Cursor {
    const LineMux* mux = nullptr;
    Stream stream = 0;
  };

  LineMux(Sink& out, Cursor& cursor, Clock::time_point (*now)() = &Clock::now)
      : out_(out), cursor_(cursor), now_(now) {}

  Stream add(Styled prefix);

  /// Changes the prefix of the lines that begin from now on.
  void set_prefix(Stream stream, Styled prefix);

  void write(Stream stream, std::string_view bytes);
  /// Writes the rest of the stream's output and adds a missing line end. The colours that are on
  /// end there.
  void finish(Stream stream);
  void finish_all();

 private:
  struct State {
    Styled prefix;
    std::optional<Styled> next{};  ///< The prefix after the present line.
    std::string held{};
    std::string colors{};         ///< The escape sequences of the colours that are on.
    bool returned = false;        ///< The last byte written was a carriage return.
    Clock::time_point emitted{};  ///< The time of the stream's last output.
  };
  bool is_open(Stream stream) const noexcept {
    return cursor_.mux == this && cursor_.stream == stream;
  }
  bool may_show(const State& state, Stream stream) const;
  void emit(Stream stream, std::string_view text, bool ends_line);
  void append(State& state, std::string_view text);
  void add_pending(std::string_view text);
  std::string take_held(State& state);
  void end_colors(const State& state);
  void flush();

  Sink& out_;
  Cursor& cursor_;
  Clock::time_point (*now_)();
  std::vector<State> streams_;
  /// Output that is not written yet, so that many short lines need only one write.
  std::string pending_;
  std::size_t held_ = 0;  ///< The bytes of the unfinished lines of all streams.
};

}  // namespace fastgpu::cli
