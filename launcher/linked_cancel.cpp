#include "launcher/linked_cancel.hpp"

#include <poll.h>
#include <signal.h>

#include <algorithm>

namespace fastgpu::launcher {
namespace {

using SteadyClock = std::chrono::steady_clock;

void watch(const Cancel& outer, const Cancel& done, Cancel& inner, SteadyClock::time_point deadline,
           std::atomic<bool>& timed_out) noexcept {
  while (!done.requested()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
    if (left.count() <= 0) timed_out = true;
    if (timed_out || outer.requested()) return inner.request();
    pollfd fds[] = {{outer.fd(), POLLIN, 0}, {done.fd(), POLLIN, 0}};
    constexpr std::chrono::milliseconds kLongest(3'600'000);
    ::poll(fds, 2, static_cast<int>(std::min(left, kLongest).count()));
  }
}

}  // namespace

LinkedCancel::LinkedCancel(const Cancel& outer, std::chrono::milliseconds limit) {
  const auto deadline =
      limit.count() < 0 ? SteadyClock::time_point::max() : SteadyClock::now() + limit;
  // Signals belong to the other threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  watcher_ =
      std::jthread([this, &outer, deadline] { watch(outer, done_, inner_, deadline, timed_out_); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LinkedCancel::~LinkedCancel() {
  done_.request();
}

}  // namespace fastgpu::launcher
