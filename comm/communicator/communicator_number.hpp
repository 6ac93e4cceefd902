// The numbers of communicators and of their calls, which are in the tags of all messages.
#pragma once

#include <algorithm>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <mutex>

#include "comm/common/biased_mutex.hpp"
#include "comm/engine/call.hpp"
#include "comm/engine/operation.hpp"

namespace fastgpu::comm {

/// Communicators of a job that may exist at a time.
constexpr std::uint32_t kMostContexts = 4096;

/// The numbers that this rank's communicators have in the tags of messages. Thread-safe.
class Contexts {
 public:
  /// The lowest number that is free and not below `least`; kMostContexts for none.
  std::uint32_t lowest_free(std::uint32_t least) const;
  void take(std::uint32_t number);
  /// `end` is above every call's number in a tag that the communicator has used.
  void give_back(std::uint32_t number, std::uint64_t end);
  /// Returns the first call's number for a new communicator: late messages of earlier ones with the
  /// same number are never taken for its own.
  std::uint64_t end() const;

 private:
  mutable std::mutex mutex_;
  std::bitset<kMostContexts> taken_{1};  ///< 0 is the whole job's.
  std::uint64_t end_ = 0;
};

/// The lock under which a thread gives a call its place in the order of a communicator's calls. It
/// is held for less than a microsecond, and hardly ever wanted by two threads.
class CallOrder {
 public:
  /// Throws ErrorKind::usage if another thread begins a collective call, too. A message waits:
  /// several threads may begin messages.
  void lock(CallKind kind) {
    const bool is_collective = kind != CallKind::message;
    if (!mutex_.try_lock()) wait(is_collective);
    begins_collective_.store(is_collective, std::memory_order_relaxed);
  }
  void unlock() noexcept {
    begins_collective_.store(false, std::memory_order_relaxed);
    mutex_.unlock();
  }

 private:
  void wait(bool is_collective);

  BiasedMutex mutex_;
  std::atomic<bool> begins_collective_{false};  ///< True if its holder begins a collective call.
};

/// The number of one communicator, given back once the communicator is gone.
class CommunicatorNumber {
 public:
  CommunicatorNumber(Contexts* home, std::uint32_t number, std::uint64_t begin)
      : home_(home), number_(number), begin_(begin), end_(begin) {
    if (home_ != nullptr) home_->take(number);
  }
  ~CommunicatorNumber() {
    if (home_ != nullptr) home_->give_back(number_, end_);
  }
  CommunicatorNumber(const CommunicatorNumber&) = delete;
  CommunicatorNumber& operator=(const CommunicatorNumber&) = delete;

  std::uint32_t number() const noexcept { return number_; }
  /// Returns the first part of the message tags of a call. Called during a Start.
  std::uint64_t tag_of(std::uint64_t sequence) noexcept {
    const std::uint64_t call = begin_ + sequence;
    end_ = std::max(end_, call + 1);
    return std::uint64_t{number_} << kCommunicatorShift | call % kSequences << kCallShift;
  }

  /// Held while a thread gives a call its place in the order of calls: one thread at a time.
  class Start {
   public:
    /// Throws what CallOrder::lock throws.
    Start(CommunicatorNumber& number, CallKind kind) : order_(number.order_) { order_.lock(kind); }
    ~Start() { order_.unlock(); }
    Start(const Start&) = delete;
    Start& operator=(const Start&) = delete;

   private:
    CallOrder& order_;
  };

 private:
  static constexpr std::uint64_t kSequences = std::uint64_t{1} << 24;

  Contexts* home_;  ///< Null for that of the whole job.
  std::uint32_t number_;
  std::uint64_t begin_;
  std::uint64_t end_;  ///< Written during a Start.
  CallOrder order_;
};

}  // namespace fastgpu::comm
