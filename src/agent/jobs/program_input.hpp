// Input that the other end of a connection sends for a program here: its variables, and its
// standard input. The program must end with the connection.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "transfer/input_frames.hpp"

namespace fastgpu::agent {

/// Buffers at most two frames: it reads more only when the program has taken its content.
class ProgramInput {
 public:
  /// Borrows `from`. Input that arrives before pass_to() is dropped.
  explicit ProgramInput(int from);

  /// Blocks until the variables have arrived. Throws local if the connection ends first, and remote
  /// if another frame arrives.
  std::vector<std::string> wait_for_variables();

  /// Passes input to `program` from now on. `program` is the writing end of a pipe.
  void pass_to(UniqueFd program);

  /// Returns the descriptor to poll. Call receive() when it is ready.
  pollfd wanted() const noexcept;
  /// Returns the descriptor to poll before pass_on().
  pollfd wanted_of_program() const noexcept;

  /// Reads the bytes that have arrived. Returns false once the connection has ended.
  bool receive();
  /// Writes as much as the program takes without blocking. If the program has closed its input,
  /// drops the rest.
  void pass_on();

 private:
  void take(const transfer::InputFrame& frame, std::string_view bytes);
  void close_program();

  int from_;
  transfer::InputDecoder decoder_;
  bool is_framed_ = false;
  bool has_variables_ = false;
  std::vector<std::string> variables_;
  UniqueFd program_;
  std::string pending_;     // The bytes that the program has not taken yet.
  std::size_t at_ = 0;      // The index of the first of them.
  bool complete_ = false;   // The last byte has arrived.
  bool is_closed_ = false;  // No more bytes are passed on.
};

}  // namespace fastgpu::agent
