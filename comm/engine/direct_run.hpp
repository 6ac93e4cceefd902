// The short way through a call of few bytes: its steps one after another, without an operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/engine/operation.hpp"
#include "comm/engine/routes.hpp"

namespace fastgpu::comm {

/// A run of a work's steps in their order (PreparedProgram::order), by transports that move short
/// messages within a call. Nothing knows of it but its caller: it may stop after any step, and an
/// operation goes on from there.
class DirectRun {
 public:
  /// Returns whether all messages of a work are short enough, and there are few of them.
  static bool suits(const Work& work, const Routes& routes);

  /// Borrows all. `scratch` is the memory for the work's scratch elements, whatever its size.
  DirectRun(const Work& work, const Routes& routes, std::vector<std::byte>& scratch);

  /// Runs the next steps. Returns whether all are done; false if a message has not come yet, or
  /// could not be sent.
  bool advance();

  /// Returns the steps that have been run.
  std::span<const StepIndex> done() const { return std::span(work_.program->order).first(next_); }
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
  std::size_t next_ = 0;  ///< A place in the order.
};

}  // namespace fastgpu::comm
