// A rank's events and their times, in the format that chrome://tracing and Perfetto show.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <mutex>
#include <string>
#include <vector>

#include "comm/common/rank.hpp"

namespace fastgpu::comm {

/// A timeline that keeps the last events, and drops older ones. Thread-safe. Without a timeline
/// nothing is spent on one: its writers have a null pointer.
class Timeline {
 public:
  using Clock = std::chrono::steady_clock;

  struct Event {
    const char* name = "";  ///< A literal.
    std::uint32_t row = 0;  ///< The line on which it is drawn, such as a lane's.
    std::uint32_t step = 0;
    std::uint64_t number = 0;  ///< The number of the gradient or the bucket.
    Clock::time_point began{};
    Clock::time_point ended{};
    std::uint64_t bytes = 0;  ///< The size of what the event is about; 0: none is known.
  };

  explicit Timeline(std::size_t most_events = std::size_t{1} << 16) : most_(most_events) {}

  void add(const Event& event);

  std::uint64_t forgotten() const;

  /// Writes one process for the rank. `ahead` is the lead of this host's clock over that of rank 0.
  void write(std::ostream& out, Rank rank, std::chrono::nanoseconds ahead) const;

 private:
  std::size_t most_;
  mutable std::mutex mutex_;
  std::vector<Event> events_;  ///< A ring once it is full.
  std::uint64_t added_ = 0;
};

/// Returns text as it is between the quotes of a JSON string.
std::string json_escaped(const std::string& text);

}  // namespace fastgpu::comm
