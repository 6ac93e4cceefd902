// One run of a program on one rank.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/engine/call.hpp"
#include "comm/engine/offloaded_collective.hpp"
#include "comm/engine/prepared.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

/// The work of an operation. Buffers belong to the caller, and must stay in place until it is done.
struct Work {
  std::shared_ptr<const PreparedProgram> program;  ///< Shared with the cache that it comes from.
  std::span<std::byte> data{};
  std::span<const std::byte> input{};
  Reduction reduction{};       ///< The operation and the type of the elements.
  std::uint64_t tag_base = 0;  ///< The beginning of every message's tag.
  Call call{};
  std::optional<Note> note{};     ///< The call for other ranks; absent: they expect no note.
  std::int32_t priority = 0;      ///< The priority of its messages: a higher one overtakes.
  bool is_courtesy = false;       ///< True for a message to a rank that may end without it.
  const char* part_of = nullptr;  ///< What the program knows of this call; null: the call itself.
  std::shared_ptr<OffloadedCollective>
      offloaded{};  ///< Runs it instead of the program, which is empty.
};

/// Returns "all_reduce number 7 (...)", or what that call is part of with the call behind it.
std::string describe(const Work& work);

/// The memory that the steps of a program read and write. Borrows all.
class StepMemory {
 public:
  StepMemory(const PreparedProgram& program, std::span<const std::byte> input,
             std::span<std::byte> data, std::span<std::byte> scratch, Reduction reduction)
      : program_(program),
        input_(input),
        data_(data),
        scratch_(scratch),
        reduction_(reduction),
        element_(size_of(reduction.type)) {}

  /// Returns a whole buffer that programs write: the data, or the scratch elements.
  std::span<std::byte> writable(Buffer buffer) const noexcept {
    return buffer == Buffer::data ? data_ : scratch_;
  }
  std::span<std::byte> bytes(const Part& part) const;
  std::span<const std::byte> readable(const Part& part) const;

  /// Runs a step that needs no other rank.
  void run(const Step& step) const;

  /// Divides the sums of an average that are whole after this step.
  void finish(StepIndex step) const;
  /// Divides the sums after the last step.
  void finish_all() const;

 private:
  const PreparedProgram& program_;
  std::span<const std::byte> input_;
  std::span<std::byte> data_;
  std::span<std::byte> scratch_;
  Reduction reduction_;
  std::size_t element_;
};

/// The place of a communicator's number in the tags of its messages.
constexpr int kCommunicatorShift = 52;

/// Returns the tag of the message of a step.
MessageTag tag_of(const Work& work, StepIndex step) noexcept;
/// Returns the tag of the first message on a lane.
constexpr MessageTag first_tag(std::uint64_t tag_base, std::uint8_t lane) noexcept {
  return {tag_base | std::uint64_t{lane} << kChannelBits};
}

/// Returns the number of the communicator whose call has this beginning of its tags; 0: that of the
/// whole job.
constexpr std::uint32_t communicator_in(std::uint64_t tag_base) noexcept {
  return static_cast<std::uint32_t>(tag_base >> kCommunicatorShift);
}

class Operation;

struct Sending : Outgoing {
  Operation* operation = nullptr;
  StepIndex step = 0;
};
struct Receiving : Incoming {
  Operation* operation = nullptr;
  StepIndex step = 0;
};

/// A step that has begun, and has not ended, as others want to know of it.
struct Pending {
  Rank peer{};
  bool is_receive = false;
  std::size_t moved = 0;
};

class Operation {
 public:
  explicit Operation(Work work) { reset(std::move(work)); }

  /// Begins other work after the end of this one, in the same memory.
  void reset(Work work);

  /// Leaves out steps that have been run with this scratch memory. Follows `reset`.
  void skip(std::span<const StepIndex> steps, std::span<const std::byte> scratch);

  /// Returns true if it keeps little memory, and nothing that others wait to have back.
  bool is_small() const noexcept;

  const Work& work() const noexcept { return work_; }
  bool is_done() const noexcept { return left_ == 0 || failure_.has_value(); }
  const std::optional<Error>& failure() const noexcept { return failure_; }
  void fail(const Error& error) { failure_ = error; }

  /// A step that may begin; none where all that are left wait for others.
  std::optional<StepIndex> next() noexcept;

  /// The message of a step that has been taken from `next`.
  Sending& sending(StepIndex step);
  Receiving& receiving(StepIndex step);

  /// Runs a step that needs no other rank.
  void run(StepIndex step);

  /// The step has done its work: others may begin.
  void finished(StepIndex step);

  /// Whom it was meant for needs it no more.
  void forgo() noexcept { left_ = 0; }

  /// Ends the operation after another engine (MPI or NCCL) has run it as a whole.
  void finished_offloaded();

  std::size_t steps_left() const noexcept { return left_; }

  /// Messages on their way.
  std::vector<Pending> pending() const;

  // When something of it last moved, as far as anybody has looked.
  std::size_t seen_moved = 0;
  std::chrono::steady_clock::time_point seen_at{};
  std::chrono::milliseconds next_warning{0};  ///< After so much silence; 0: not set yet.

 private:
  void divide();
  StepMemory memory() {
    return {*work_.program, work_.input, work_.data, scratch_, work_.reduction};
  }
  Rank world_rank(Rank rank) const {
    return (*work_.program->group)[static_cast<std::size_t>(rank.value)];
  }

  Work work_;
  std::vector<std::byte> scratch_;
  std::vector<std::byte> divided_;        ///< The input of an average that is divided first.
  std::vector<std::uint32_t> waits_for_;  ///< The number of steps that each step waits for.
  std::vector<StepIndex> ready_;
  std::size_t next_ready_ = 0;
  std::vector<Sending> sendings_;
  std::vector<Receiving> receivings_;
  std::vector<bool> is_on_its_way_;
  std::size_t left_ = 0;
  std::optional<Error> failure_;
};

}  // namespace fastgpu::comm
