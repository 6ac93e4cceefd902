// When the bytes of a log were written: an index beside the log, which a program writes itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "agent/files/change_watch.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// An observation: the size of a log at a time.
struct LogTime {
  std::int64_t time = 0;   ///< Nanoseconds since 1970.
  std::uint64_t size = 0;  ///< Larger than in the observation before.
};

/// Returns the observation that was the first one with the byte at `offset`; absent if none has it.
/// Pure.
std::optional<LogTime> written_at(std::span<const LogTime> times, std::uint64_t offset);

/// Returns the offset of the first byte that was written at `time` or later; for a time after the
/// last observation the size then. Pure.
std::uint64_t offset_at(std::span<const LogTime> times, std::int64_t time);

/// Returns the path of a log's index.
std::filesystem::path times_path(const std::filesystem::path& log);

/// Returns the index of a log; empty without one.
std::vector<LogTime> read_times(const std::filesystem::path& log);

/// Writes the indexes of some logs while they grow. It never throws, and a full disk only leaves
/// observations out. It observes at most 50 times a second, and on average every hundred-thousandth
/// of the time that it has run, so that an index stays small.
class LogClock {
 public:
  explicit LogClock(const std::vector<std::filesystem::path>& logs);

  /// Returns the descriptor to poll for reading; -1 without one.
  int fd() const noexcept { return is_resting() ? -1 : watch_.fd(); }
  /// Returns for how many milliseconds poll() may wait; -1 for any time.
  int wait() const noexcept;
  /// Observes the logs, unless it did so a moment ago.
  void look() noexcept;
  /// Observes the logs in any case. For the end of their program.
  void finish() noexcept;
  /// Returns true if the logs had output when they were last observed.
  bool has_output() const noexcept;

 private:
  struct Log {
    UniqueFd log;
    UniqueFd index;
    std::uint64_t size = 0;
  };
  using SteadyClock = std::chrono::steady_clock;
  bool is_resting() const noexcept { return SteadyClock::now() < next_; }

  std::vector<Log> logs_;
  ChangeWatch watch_;
  SteadyClock::time_point begin_ = SteadyClock::now();
  SteadyClock::time_point next_ = begin_;
};

}  // namespace fastgpu::agent
