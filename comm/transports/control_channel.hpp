// The notices that ranks send each other beside their messages, over any transport.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "comm/common/rank.hpp"

namespace fastgpu::comm {

constexpr std::size_t kQuestionBytes = 8;
constexpr std::size_t kMostAnswerBytes = 8192;
constexpr std::size_t kMaxAbortBytes = 1024;

/// A listener to the notices of other ranks, called only from within functions of a channel. It may
/// send notices in turn.
class ControlEvents {
 public:
  virtual ~ControlEvents() = default;

  virtual void on_question(Rank from, std::span<const std::byte> question) = 0;
  virtual void on_answer(Rank from, std::span<const std::byte> answer) = 0;

  /// Reports that a rank has given up the job, with its reason.
  virtual void on_abort(Rank from, std::span<const std::byte> reason) = 0;
};

/// A connection to every other rank for notices. No function waits, but for `send_abort`. One
/// thread at a time.
class ControlChannel {
 public:
  virtual ~ControlChannel() = default;

  /// Sends and receives what it can without waiting; returns false where that was nothing.
  virtual bool progress() = 0;

  /// Wakes a rank that sleeps.
  virtual void wake(Rank peer) = 0;

  /// Asks a rank what it waits for; a question replaces one that has not left yet.
  virtual void ask(Rank peer, std::span<const std::byte> question) = 0;
  virtual void answer(Rank peer, std::span<const std::byte> answer) = 0;

  /// Sends every rank that is still there the reason why this one gives up, and waits until all
  /// have it, but no longer than `limit`. Messages that have not left yet are dropped.
  virtual void send_abort(std::span<const std::byte> reason,
                          std::chrono::milliseconds limit) noexcept = 0;

  /// Returns whether something was sent to `peer` again because its host has not acknowledged it. A
  /// host that is up acknowledges, whatever its processes do.
  virtual bool is_unacknowledged(Rank peer) const noexcept = 0;
};

}  // namespace fastgpu::comm
