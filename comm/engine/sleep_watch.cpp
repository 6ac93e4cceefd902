#include "comm/engine/sleep_watch.hpp"

#include <sched.h>
#include <sys/eventfd.h>

#include <cerrno>

#include "base/error.hpp"

namespace fastgpu::comm {

SleepWatch::SleepWatch() : kick_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!kick_) throw system_error("making an event descriptor", errno);
  wake_ends_.push_back({kick_.get(), POLLIN, 0});
}

void SleepWatch::add(const std::vector<int>& descriptors) {
  for (const int descriptor : descriptors)
    wake_ends_.push_back({descriptor, POLLIN, 0});
}

void SleepWatch::wait_for_end(Lock& lock, std::chrono::milliseconds longest) {
  ++sleepers_;
  ended_.wait_for(lock, longest);
  --sleepers_;
}

void SleepWatch::keep(Lock& lock, Sleeper sleeper, std::chrono::milliseconds longest) {
  const int waiter = sleeper == Sleeper::waiter ? 1 : 0;
  is_kept_ = true;
  sleepers_ += waiter;
  lock.unlock();
  if (longest.count() == 0) ::sched_yield();
  // No other thread uses them meanwhile.
  ::poll(wake_ends_.data(), wake_ends_.size(), static_cast<int>(longest.count()));
  lock.lock();
  sleepers_ -= waiter;
  is_kept_ = false;
  ended_.notify_all();
  eventfd_t kicks = 0;
  if (wake_ends_.front().revents != 0) ::eventfd_read(kick_.get(), &kicks);
}

void SleepWatch::kick() const noexcept {
  ::eventfd_write(kick_.get(), 1);
}

void SleepWatch::wake_waiters() const noexcept {
  if (sleepers_ > 0) kick();
}

}  // namespace fastgpu::comm
