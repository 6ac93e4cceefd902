// The short way through a call of few bytes: its steps one after another, without an operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/engine/operation.hpp"
#include "comm/engine/routes.hpp"

namespace fastgpu::comm {

/// Returns the steps of a program of elements of so many bytes in its order
/// (PreparedProgram::order); absent unless all its messages are short, and there are few of them.
std::optional<std::vector<DirectStep>> direct_steps(const PreparedProgram& prepared,
                                                    std::size_t element, const Routes& routes);

/// Returns PreparedProgram::may_gather of a program whose direct steps are known.
bool may_gather(const PreparedProgram& prepared, const Routes& routes);

/// A call as such a run sees it. Borrows all.
struct DirectCall {
  const PreparedProgram& program;
  std::span<const std::byte> input{};
  std::span<std::byte> data{};
  Reduction reduction{};
  std::uint64_t tag_base = 0;  ///< As in Work.
  CallKind kind{};
  const Note* note = nullptr;  ///< Null: other ranks expect none.
};

/// A run of a program's direct steps, by transports that move short messages within a call. Nothing
/// knows of it but its caller: it may stop after any step, and an operation goes on from there.
class DirectRun {
 public:
  /// Borrows all. The call's program has direct steps. `scratch` is the memory for its scratch
  /// elements, whatever its size.
  DirectRun(const DirectCall& call, std::vector<std::byte>& scratch);

  /// Runs the next steps. Returns whether all are done; false if a message has not come yet, or
  /// could not be sent.
  bool advance();

  /// Returns the steps that have been run.
  std::span<const StepIndex> done() const { return std::span(call_.program.order).first(next_); }
  std::span<const std::byte> scratch() const noexcept { return scratch_; }

 private:
  bool run(const DirectStep& step);
  bool send(const DirectStep& step);
  bool receive(const DirectStep& step);

  const DirectCall& call_;
  const std::vector<DirectStep>& steps_;
  std::span<std::byte> scratch_;
  StepMemory memory_;
  std::size_t next_ = 0;  ///< A place in the order.
};

}  // namespace fastgpu::comm
