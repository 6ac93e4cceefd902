// One growing log file, read from some offset on.
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

  /// Starts at the last `lines` lines; one without its newline counts as a line.
  void start_at_tail(std::uint64_t lines);

  /// Reads bytes into `buffer` from the offset, which moves on; returns 0 if nothing has been
  /// added.
  std::size_t read(std::span<char> buffer);

 private:
  int rank_;
  OutputStream stream_;
  UniqueFd file_;
  std::uint64_t offset_ = 0;
};

/// Returns a log's name for --from: "3.out", "launcher.err".
std::string log_name(int rank, OutputStream stream);

}  // namespace fastgpu::agent
