// The data that the other end of a connection sends for a program here: its variables, and its
// standard input. The program must end with the connection.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "transfer/input_frames.hpp"

namespace fastgpu::agent {

/// A buffer of at most two frames: it reads on only when the program has taken its content.
class ProgramInput {
 public:
  /// Borrows `from`. Input before pass_to is discarded.
  explicit ProgramInput(int from);

  /// Blocks until the variables have come. Throws local if the connection ends before, remote if
  /// another frame comes.
  std::vector<std::string> wait_for_variables();

  /// Passes input to `program`, the writing end of a pipe, from now on.
  void pass_to(UniqueFd program);

  /// Returns the descriptor to poll; call `receive` when it is ready.
  pollfd wanted() const noexcept;
  /// Returns the descriptor to poll for `pass_on`.
  pollfd wanted_of_program() const noexcept;

  /// Takes the arrived bytes; returns false once the connection has ended.
  bool receive();
  /// Passes on as much as the program takes at once. A program that has closed its input gets no
  /// more.
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
  std::string pending_;     // The bytes that the program has not taken yet,
  std::size_t at_ = 0;      // from here on.
  bool complete_ = false;   // The last byte has come.
  bool is_closed_ = false;  // No more bytes are passed on.
};

}  // namespace fastgpu::agent
