// A growing log file, which is read from an offset on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/jobs/log_times.hpp"
#include "agent/protocol/frame.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {

class LogSource {
 public:
  LogSource(int rank, OutputStream stream, const std::filesystem::path& path);

  int rank() const noexcept { return rank_; }
  OutputStream stream() const noexcept { return stream_; }
  std::uint64_t offset() const noexcept { return offset_; }

  void start_at(std::uint64_t offset) noexcept { offset_ = offset; }

  /// Sets the offset to the beginning of the last `lines` lines. A last line without a newline
  /// counts, too. Returns how many lines there are behind the offset.
  std::uint64_t start_at_tail(std::uint64_t lines);

  /// Advances the offset to the next line, or to the end of the log.
  void skip_line();

  /// Sets the offset so that at most the last `bytes` bytes follow it.
  void start_at_last_bytes(std::uint64_t bytes);

  /// Loads the times of the log's bytes; again, if it may have grown.
  void load_times();
  /// Sets the offset to the first line that began at `time` (nanoseconds since 1970) or later.
  /// Without times this is the beginning.
  void start_at_time(std::int64_t time);
  /// Returns when the byte at the offset was written; absent if this is not known.
  std::optional<std::int64_t> time_here() const;
  std::uint64_t size() const;  ///< Returns the size of the log now.
  /// Returns true if there are bytes behind the offset.
  bool has_more() const;

  /// Reads bytes into `buffer` and advances the offset. Returns 0 without new bytes. With times
  /// loaded, all of the bytes have the time of the first one.
  std::size_t read(std::span<char> buffer);

 private:
  int rank_;
  OutputStream stream_;
  UniqueFd file_;
  std::filesystem::path path_;
  std::uint64_t offset_ = 0;
  std::vector<LogTime> times_;
};

/// Sets the offsets to the last `lines` lines of all of these logs together, by their times. A line
/// without a time is taken for a new one.
void start_at_tail(std::span<LogSource* const> logs, std::uint64_t lines);

/// Returns a log's name in --from: "3.out", "launcher.err".
std::string log_name(int rank, OutputStream stream);

}  // namespace fastgpu::agent
