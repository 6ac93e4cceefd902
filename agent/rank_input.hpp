// The standard input of rank 0, from a pipe in the job's folder that `job-input` fills.
#pragma once

#include <filesystem>

#include "base/unique_fd.hpp"

namespace fastgpu::agent {

inline constexpr const char* kInputPipe = "input";
/// A second pipe, in which a byte says that the input has ended. Without it the program waits for
/// more, also while no connection brings any.
inline constexpr const char* kInputEnd = "input.end";

/// The end of the pipe that belongs to the rank. Destruction removes both pipes.
class RankInput {
 public:
  explicit RankInput(std::filesystem::path directory);
  ~RankInput();
  RankInput(const RankInput&) = delete;
  RankInput& operator=(const RankInput&) = delete;

  /// What the program reads from; to be closed once it has been started.
  UniqueFd& for_program() noexcept { return program_; }

  /// To poll for reading; then `end`. -1 once it has ended.
  int end_fd() const noexcept { return end_.get(); }
  /// The program sees the end of its input once it has read what is left.
  void end() noexcept;

 private:
  std::filesystem::path directory_;
  UniqueFd keeper_;  // Reads and writes: neither side meets an end before it is one.
  UniqueFd program_;
  UniqueFd end_;
};

}  // namespace fastgpu::agent
