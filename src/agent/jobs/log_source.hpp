// A growing log file, which is read from an offset on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

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
  /// counts, too.
  void start_at_tail(std::uint64_t lines);

  /// Reads bytes into `buffer` and advances the offset. Returns 0 without new bytes.
  std::size_t read(std::span<char> buffer);

 private:
  int rank_;
  OutputStream stream_;
  UniqueFd file_;
  std::uint64_t offset_ = 0;
};

/// Returns a log's name in --from: "3.out", "launcher.err".
std::string log_name(int rank, OutputStream stream);

}  // namespace fastgpu::agent
