#include "comm/common/interrupt.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>

#include "base/error.hpp"

namespace fastgpu::comm {
namespace {

/// An interpreter has one place for signals, and waits begin before there is a communicator that
/// could hold this.
std::atomic<WaitCheck> the_check{nullptr};
std::atomic<void*> the_user{nullptr};
std::atomic<std::thread::id> the_thread{};

WaitCheck check_of_this_thread() noexcept {
  const WaitCheck check = the_check;
  return check != nullptr && the_thread.load() == std::this_thread::get_id() ? check : nullptr;
}

}  // namespace

void use_wait_check(WaitCheck check, void* user) noexcept {
  the_user = user;
  the_thread = std::this_thread::get_id();
  the_check = check;
}

std::chrono::milliseconds longest_sleep(std::chrono::milliseconds wanted) noexcept {
  return check_of_this_thread() != nullptr ? std::min(wanted, kBetweenWaitChecks) : wanted;
}

void check_interrupt() {
  const WaitCheck check = check_of_this_thread();
  if (check != nullptr && check(the_user) != 0)
    throw Error(ErrorKind::interrupted, "the program was interrupted");
}

int poll_until(std::span<pollfd> ends, Deadline deadline) {
  for (;;) {
    const Deadline slice = within(deadline, longest_sleep(std::chrono::hours(1)));
    const int ready = ::poll(ends.data(), ends.size(), slice.left_for_poll());
    if (ready > 0 || (ready < 0 && errno != EINTR)) return ready;
    check_interrupt();
    if (deadline.passed()) return 0;
  }
}

WaitClock::WaitClock() noexcept {
  if (check_of_this_thread() != nullptr) last_ = std::chrono::steady_clock::now();
}

bool WaitClock::is_due_now() noexcept {
  if (check_of_this_thread() == nullptr) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kBetweenWaitChecks * 9 / 10) return false;
  last_ = now;
  return true;
}

}  // namespace fastgpu::comm
