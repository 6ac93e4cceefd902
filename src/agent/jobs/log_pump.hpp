// Passes the output of a program on to its logs, and drops what has no room on the disk: the
// program does not notice that the disk is full.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <thread>

#include "base/pipe.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// Works in a thread of its own, from its construction to its destruction.
class LogPump {
 public:
  /// Borrows the logs, which are open for appending.
  LogPump(const UniqueFd& out, const UniqueFd& err);
  ~LogPump();
  LogPump(const LogPump&) = delete;
  LogPump& operator=(const LogPump&) = delete;

  /// Returns the pipes for the program. They are open until `leave_to_program`.
  const UniqueFd& out() const noexcept { return streams_[0].pipe.write_end; }
  const UniqueFd& err() const noexcept { return streams_[1].pipe.write_end; }
  void leave_to_program() noexcept;

  /// Waits until all that was written by now is in the logs. Processes that the program has left
  /// behind may write more.
  void settle();
  /// Returns true if anything was dropped.
  bool has_dropped() const;

 private:
  struct Stream {
    Pipe pipe;
    int log = -1;
    std::uint64_t dropped = 0;  ///< The bytes since the last one that had room.
    bool is_open = true;
    bool ends_line = true;  ///< The last byte in the log ends a line.
  };

  void run();
  void pump_all(Stream& stream, std::size_t bytes);
  void write(Stream& stream, std::string_view text);
  void wake(char order) const;

  std::array<Stream, 2> streams_;
  Pipe orders_;
  mutable std::mutex mutex_;
  std::condition_variable settled_;
  bool is_settled_ = false;
  bool has_dropped_ = false;
  std::thread thread_;
};

}  // namespace fastgpu::agent
