// The standard input of rank 0: a pipe in the job's folder, which `job-input` fills.
#pragma once

#include <filesystem>

#include "base/unique_fd.hpp"

namespace fastgpu::agent {

inline constexpr const char* kInputPipe = "input";
/// A second pipe. A byte in it marks the end of the input. Without the byte, the program waits for
/// more input, even if the connection is lost.
inline constexpr const char* kInputEnd = "input.end";

/// The rank's ends of the pipes. The destructor removes both pipes.
class RankInput {
 public:
  explicit RankInput(std::filesystem::path directory);
  ~RankInput();
  RankInput(const RankInput&) = delete;
  RankInput& operator=(const RankInput&) = delete;

  /// Returns the program's end of the pipe. Close it once the program has started.
  UniqueFd& for_program() noexcept { return program_; }

  /// Returns the descriptor to poll for reading, before a call of end(); -1 once the input has
  /// ended.
  int end_fd() const noexcept { return end_.get(); }
  /// Lets the program see the end of its input once it has read the rest.
  void end() noexcept;

 private:
  std::filesystem::path directory_;
  UniqueFd keeper_;  // Open for reading and writing, so that neither side sees an early end.
  UniqueFd program_;
  UniqueFd end_;
};

}  // namespace fastgpu::agent
