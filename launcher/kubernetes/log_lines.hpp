// The log of a launcher's pod, taken apart into the lines of ranks. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agent/protocol/frame.hpp"

namespace fastgpu::launcher {

/// A line of a rank, or of mpirun itself (agent::kLauncherRank).
struct PodLine {
  int rank = 0;
  agent::OutputStream stream = agent::OutputStream::out;
  std::int64_t time = 0;    ///< Nanoseconds since 1970.
  std::string_view text{};  ///< The line with its newline, if it has one; a piece of a long line.
};

/// Parses "2026-03-01T12:00:00.123456789Z". Absent for any other text.
std::optional<std::int64_t> parse_pod_time(std::string_view text);

/// Takes the bytes of a log with times, whose lines mpirun has tagged ("[1,3]<stdout>:..."), in
/// pieces of any size, and calls `sink` for each line. A log that is read again from an earlier
/// place is continued: lines that have been seen are dropped.
class PodLog {
 public:
  using Sink = std::function<void(const PodLine&)>;

  /// Lines of ranks beyond `ranks` are taken for lines of mpirun.
  PodLog(int ranks, Sink sink) : ranks_(ranks), sink_(std::move(sink)) {}

  void take(std::string_view bytes);
  /// Ends a reading of the log. What is held of a last line without newline is dropped, because it
  /// will be read again, unless `is_complete`.
  void end(bool is_complete);

  /// Returns the time of the last line; absent before the first one.
  std::optional<std::int64_t> last_time() const noexcept { return last_; }

 private:
  /// A line that has begun.
  struct OpenLine {
    int rank = 0;
    agent::OutputStream stream = agent::OutputStream::out;
    std::int64_t time = 0;
    bool is_seen = false;   ///< Passed on by an earlier reading.
    std::size_t bytes = 0;  ///< The bytes of its text that have been read.
    std::size_t skip = 0;   ///< The bytes that an earlier reading has passed on.
  };

  void begin_line(std::string_view line);
  void pass_on(OpenLine& line, std::string_view text);

  int ranks_;
  Sink sink_;
  std::string held_;                    ///< The beginning of a line that is not open yet.
  std::optional<OpenLine> open_{};      ///< A long line whose beginning has been passed on.
  std::optional<std::int64_t> last_{};  ///< The time of the last line that was passed on.
  std::size_t count_ = 0;               ///< The number of the last lines that have that time.
  /// The lines to drop in a log that is read again: those before this time, and so many at it.
  std::optional<std::int64_t> seen_until_{};
  std::size_t seen_then_ = 0;
  std::size_t seen_bytes_ = 0;  ///< The bytes of the next line that have been passed on.
};

}  // namespace fastgpu::launcher
