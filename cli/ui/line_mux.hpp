// The lines of many streams on one screen: every line whole, each with the prefix of its stream.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/ui/styled.hpp"

namespace fastgpu::cli {

class Sink;

/// A multiplexer of lines. Lines up to 64 KiB come out in one piece. The beginning of a longer line
/// is written before its end is known, so that an endless one takes no endless memory. If another
/// stream writes meanwhile, the line is broken there and goes on under its prefix.
///
/// A line with carriage returns, such as a progress bar, is written as it comes, with the prefix
/// after each return. While the line of another stream is open, such a bar breaks it at most once a
/// second.
class LineMux {
 public:
  using Stream = std::size_t;
  using Clock = std::chrono::steady_clock;

  /// The stream whose line is open at the end of the screen. Two muxes that write to one terminal
  /// share it.
  struct Cursor {
    const LineMux* mux = nullptr;
    Stream stream = 0;
  };

  LineMux(Sink& out, Cursor& cursor, Clock::time_point (*now)() = &Clock::now)
      : out_(out), cursor_(cursor), now_(now) {}

  Stream add(Styled prefix);

  void write(Stream stream, std::string_view bytes);
  void finish(Stream stream);  ///< Writes the rest of it, with a missing end of line.
  void finish_all();

 private:
  struct State {
    Styled prefix;
    std::string held{};
    bool returned = false;        ///< The last byte written was a carriage return.
    Clock::time_point emitted{};  ///< The time of the stream's last output.
  };
  bool is_open(Stream stream) const noexcept {
    return cursor_.mux == this && cursor_.stream == stream;
  }
  bool may_show(const State& state, Stream stream) const;
  void emit(Stream stream, std::string_view text, bool ends_line);
  void append(State& state, std::string_view text);
  void flush();

  Sink& out_;
  Cursor& cursor_;
  Clock::time_point (*now_)();
  std::vector<State> streams_;
  std::string pending_;  ///< Text that is not written yet: one write for many short lines.
};

}  // namespace fastgpu::cli
