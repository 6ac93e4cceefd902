// What the other end of a connection sends for a program that runs here: its variables, and its
// standard input. The end of the connection is the order to end the program.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "transfer/input_frames.hpp"

namespace fastgpu::agent {

/// Holds at most two frames in memory: it reads on only when the program has taken what there is.
class ProgramInput {
 public:
  /// Borrows `from`. Until pass_to is called what comes as input is thrown away.
  explicit ProgramInput(int from);

  /// Blocks until the variables have come. Throws local where the connection ends before, remote
  /// where something else comes.
  std::vector<std::string> wait_for_variables();

  /// From now on input goes to `program`, the writing end of a pipe.
  void pass_to(UniqueFd program);

  /// What to poll for: `receive` when it is ready.
  pollfd wanted() const noexcept;
  /// The same for `pass_on`.
  pollfd wanted_of_program() const noexcept;

  /// Takes what has come; false once the connection has ended.
  bool receive();
  /// Hands on what the program takes at once. A program that has closed its input gets no more.
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
  std::string pending_;     // What the program has not taken yet,
  std::size_t at_ = 0;      // from here on.
  bool complete_ = false;   // The last byte has come.
  bool is_closed_ = false;  // Nothing more is handed on.
};

}  // namespace fastgpu::agent
