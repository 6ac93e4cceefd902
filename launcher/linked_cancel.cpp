#include "launcher/linked_cancel.hpp"

#include <poll.h>
#include <signal.h>

namespace fastgpu::launcher {
namespace {

void watch(const Cancel& outer, const Cancel& done, Cancel& inner) noexcept {
  while (!done.requested()) {
    if (outer.requested()) return inner.request();
    pollfd fds[] = {{outer.fd(), POLLIN, 0}, {done.fd(), POLLIN, 0}};
    ::poll(fds, 2, -1);
  }
}

}  // namespace

LinkedCancel::LinkedCancel(const Cancel& outer) {
  // Signals belong to the other threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  watcher_ = std::jthread([this, &outer] { watch(outer, done_, inner_); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LinkedCancel::~LinkedCancel() {
  done_.request();
}

}  // namespace fastgpu::launcher
