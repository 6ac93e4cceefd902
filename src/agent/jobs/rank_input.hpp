// The standard input of rank 0, from a pipe in the job's folder that `job-input` fills.
#pragma once

#include <filesystem>

#include "base/unique_fd.hpp"

namespace fastgpu::agent {

inline constexpr const char* kInputPipe = "input";
/// A second pipe, in which a byte marks the end of the input. Without it the program waits for
/// more, even without a connection.
inline constexpr const char* kInputEnd = "input.end";

/// The rank's end of the pipe. Destruction removes both pipes.
class RankInput {
 public:
  explicit RankInput(std::filesystem::path directory);
  ~RankInput();
  RankInput(const RankInput&) = delete;
  RankInput& operator=(const RankInput&) = delete;

  /// Returns the program's end; to be closed once it has been started.
  UniqueFd& for_program() noexcept { return program_; }

  /// Returns the descriptor to poll for reading; then call `end`. -1 once it has ended.
  int end_fd() const noexcept { return end_.get(); }
  /// Lets the program see the end of its input once it has read the rest.
  void end() noexcept;

 private:
  std::filesystem::path directory_;
  UniqueFd keeper_;  // Reads and writes: neither side sees an early end.
  UniqueFd program_;
  UniqueFd end_;
};

}  // namespace fastgpu::agent
