// A program made ready to be run many times.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "comm/engine/direct_step.hpp"
#include "comm/schedule/dependencies.hpp"
#include "comm/schedule/program.hpp"
#include "comm/transports/message_type.hpp"

namespace fastgpu::comm {

/// The most messages on one channel: a message's tag has room for no more.
constexpr std::uint64_t kMostOnChannel = std::uint64_t{1} << kChannelBits;

/// The place where the interpreter divides the sums of an average. It is part of the plan, so that
/// all ranks do the same.
enum class Averaging : std::uint8_t {
  none,
  before,   ///< Every rank divides its input: a sum of 16-bit numbers may overflow.
  of_sums,  ///< The rank that has summed them divides them, before it passes them on.
  at_end    ///< Every rank divides all its data: for programs in which every rank sums.
};

/// The most steps of programs that have an order: with more, the wait for each takes too long.
constexpr std::size_t kMostInOrder = 64;

struct PreparedProgram {
  using Group = std::shared_ptr<const std::vector<Rank>>;

  /// `ranks` are the world ranks of the program's ranks. Throws ErrorKind::usage if a channel has
  /// more messages than tags, ErrorKind::internal where sums and half-made sums cannot be.
  PreparedProgram(Program program, Averaging averaging, Group ranks);

  Program program;
  Group group;  ///< Shared with the communicator. World ranks of the program's ranks.
  Dependencies dependencies;
  std::vector<std::uint32_t> number;  ///< The place of each step on its channel.
  std::vector<bool>
      carries_note;  ///< True for the first step to each peer, which carries the note.
  std::vector<std::uint32_t> transfer;  ///< The place of each step among sends, or receives.
  /// The order for a rank that waits for one step at a time: what can be sent goes before each
  /// receive. Empty for programs of more than kMostInOrder steps.
  std::vector<StepIndex> order;
  /// The steps in this order if all messages are short enough to be moved within a call, and there
  /// are few. Set by Engine::prepare, which knows the transports.
  std::optional<std::vector<DirectStep>> direct;
  /// True if they only receive, by transports of which each look costs a system call.
  /// Engine::prepare sets it, too.
  bool may_gather = false;
  /// True for a receive into a place that other ranks read before, in the same program.
  std::vector<bool> was_read_by_others;
  /// How many sends have the same part as this one.
  std::vector<std::uint32_t> same_sends;
  std::uint32_t sends = 0;
  std::uint32_t receives = 0;

  Averaging averaging;
  std::vector<bool>
      is_sum;  ///< True for a step after which its part is a whole sum, to be divided.

 private:
  void number_messages();
  void find_order();
  void find_what_others_read();
  void count_same_sends();
  void find_sums();
};

}  // namespace fastgpu::comm
