// The events of ranks in the timelines that libfastgpu_comm has written. The files come from the
// nodes, where a job can write anything. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

/// An event of a rank, such as the sum of a bucket.
struct TraceEvent {
  std::string name{};  ///< At most 40 bytes, such as "all-reduce".
  int row = 0;         ///< 0: the program's thread; N: the stream N - 1.
  std::uint32_t step = 0;
  std::uint64_t number = 0;  ///< The number of the gradient or the bucket.
  std::uint64_t bytes = 0;   ///< 0: unknown.
  std::int64_t began = 0;    ///< Nanoseconds by the clock of rank 0, which begins anywhere.
  std::int64_t length = 0;   ///< Nanoseconds, at least 0.

  std::int64_t end() const noexcept { return began + length; }
  friend bool operator==(const TraceEvent&, const TraceEvent&) = default;
};

/// The end of a rank's timeline, as far as it was read.
struct RankTrace {
  int rank = 0;
  std::string node{};
  std::uint64_t size = 0;        ///< The bytes of the file.
  std::uint64_t bytes_read = 0;  ///< The bytes at its end that were read.
  std::size_t unread_lines = 0;  ///< Lines without an event, but for an incomplete first one.
  std::vector<TraceEvent> events{};

  bool is_whole() const noexcept { return bytes_read >= size; }
};

/// Returns the events in a file, or in the end of one, which has an event on each line. A line that
/// is incomplete, or has a field of another type or out of range, is counted and left out.
RankTrace parse_trace(std::string_view text, std::uint64_t size);

/// Returns true for a name of an operation that no rank can finish before all have begun it.
bool waits_for_all(std::string_view name) noexcept;

}  // namespace fastgpu::cli
