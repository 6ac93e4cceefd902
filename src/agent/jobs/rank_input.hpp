// The standard input of a rank: a pipe in the job's folder, which `job-input` fills.
#pragma once

#include <filesystem>
#include <string>

#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// Returns the name of the pipe of a rank.
std::string input_pipe(int rank);
/// Returns the name of its second pipe. A byte in it marks the end of the input. Without the byte,
/// the program waits for more input, even if the connection is lost.
std::string input_end(int rank);

/// The rank's ends of the pipes. The destructor removes both pipes.
class RankInput {
 public:
  RankInput(const std::filesystem::path& directory, int rank);
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
  std::filesystem::path pipe_path_;
  std::filesystem::path end_path_;
  UniqueFd keeper_;  // Open for reading and writing, so that neither side sees an early end.
  UniqueFd program_;
  UniqueFd end_;
};

}  // namespace fastgpu::agent
