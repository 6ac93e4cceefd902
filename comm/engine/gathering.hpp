// The pauses in which messages of a stream gather, so that several are read at once.
#pragma once

#include <chrono>

namespace fastgpu::comm {

/// Finds out whether this rank receives a dense stream of short messages: call after call that only
/// receives, and none that has waited for long. To read each message alone would take its sender
/// as much time as to send it, because each reading is confirmed.
class Gathering {
 public:
  /// It is long enough for several short messages over TCP within a machine, and a small part of
  /// the time of one between machines.
  static constexpr std::chrono::microseconds kPause{4};

  /// Begins a call. `may_gather` is true if it only receives, and each look is a system call.
  void begin(bool may_gather) noexcept {
    const bool is_dense = pauses_ <= kMostPauses;
    calls_ = may_gather && is_dense ? calls_ + 1 : 0;
    pauses_ = 0;
  }

  /// Returns whether a pause is due before the next look.
  bool is_due() noexcept { return calls_ > kCallsOfStream && pauses_++ < kMostPauses; }

 private:
  static constexpr unsigned kCallsOfStream = 32;
  static constexpr int kMostPauses = 3;

  unsigned calls_ = 0;  ///< In a row.
  int pauses_ = 0;      ///< In the call under way; above the most if it waits for long.
};

}  // namespace fastgpu::comm
