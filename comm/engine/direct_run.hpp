// The short way through a call of few bytes: its steps one after another, without an operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/engine/operation.hpp"
#include "comm/engine/routes.hpp"

namespace fastgpu::comm {

/// A run of a work in the order of its program, by transports that move short messages within a
/// call. Nothing knows of it but its caller: it may stop after any step, and an operation goes on
/// from there.
class DirectRun {
 public:
  /// Returns whether all messages of a work are short enough, and there are few of them.
  static bool suits(const Work& work, const Routes& routes);

  /// Borrows all. `scratch` is the memory for the work's scratch elements, whatever its size.
  DirectRun(const Work& work, const Routes& routes, std::vector<std::byte>& scratch);

  /// Runs the next steps. Returns whether all are done; false if a message has not come yet, or
  /// could not be sent.
  bool advance();

  StepIndex steps_done() const noexcept { return next_; }
  std::span<const std::byte> scratch() const noexcept { return scratch_; }

 private:
  bool run(StepIndex step);
  bool send(StepIndex step);
  bool receive(StepIndex step);

  const Work& work_;
  const Routes& routes_;
  std::span<std::byte> scratch_;
  StepMemory memory_;
  Note note_{};
  StepIndex next_ = 0;
};

}  // namespace fastgpu::comm
