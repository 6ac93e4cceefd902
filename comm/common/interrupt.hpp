// What ends a wait from outside: an interpreter that has seen a signal.
#pragma once

#include <poll.h>

#include <chrono>
#include <span>

#include "comm/common/deadline.hpp"

namespace fastgpu::comm {

/// Returns something other than 0 where the wait is to end. Called by the thread that waits.
using WaitCheck = int (*)(void* user);

/// Waits of the calling thread ask `check` from now on; null: none do. One check for the whole
/// process, whose interpreter gives signals to one thread. Not while that thread waits.
void use_wait_check(WaitCheck check, void* user) noexcept;

/// How often waits ask.
constexpr std::chrono::milliseconds kBetweenWaitChecks{100};

/// The longest that a thread may sleep before it asks again: `wanted`, or less where there is a
/// check.
std::chrono::milliseconds longest_sleep(std::chrono::milliseconds wanted) noexcept;

/// Throws ErrorKind::interrupted if the check asks for the end of the wait.
void check_interrupt();

/// poll() until `deadline`, whatever signals come: the number of ends that are ready, 0 once the
/// deadline has passed, -1 with errno. Throws as check_interrupt does.
int poll_until(std::span<pollfd> ends, Deadline deadline);

/// Asks in a wait that never sleeps, without looking at the clock each time.
class WaitClock {
 public:
  WaitClock() noexcept;

  /// True once it is time to ask again.
  bool is_due() noexcept {
    if (++turns_ % kTurns != 0) return false;
    return is_due_now();
  }
  /// Returns what is_due() does, after a sleep.
  bool is_due_now() noexcept;

 private:
  static constexpr unsigned kTurns = 256;
  unsigned turns_ = 0;
  std::chrono::steady_clock::time_point
      last_{};  ///< The last look; not set where there is no check.
};

}  // namespace fastgpu::comm
