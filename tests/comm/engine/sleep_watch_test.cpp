#include "comm/engine/sleep_watch.hpp"

#include <doctest/doctest.h>
#include <sys/eventfd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/unique_fd.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST_SUITE_BEGIN("comm/engine");

TEST_CASE("a sleeper wakes by a kick and by what comes, also if that was before it slept") {
  SleepWatch watch;
  const UniqueFd comes(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  watch.add({comes.get()});
  BiasedMutex mutex;
  SleepWatch::Lock lock(mutex);
  const auto began = Clock::now();
  watch.kick();
  watch.keep(lock, SleepWatch::Sleeper::waiter, 60s);
  ::eventfd_write(comes.get(), 1);
  watch.keep(lock, SleepWatch::Sleeper::driver, 60s);
  CHECK(Clock::now() - began < 30s);
  CHECK(lock.owns_lock());
  CHECK_FALSE(watch.is_kept());
}

TEST_CASE("a kick wakes once, and without one the time passes") {
  SleepWatch watch;
  BiasedMutex mutex;
  SleepWatch::Lock lock(mutex);
  watch.kick();
  watch.keep(lock, SleepWatch::Sleeper::waiter, 60s);
  const auto began = Clock::now();
  watch.keep(lock, SleepWatch::Sleeper::waiter, 20ms);
  CHECK(Clock::now() - began >= 19ms);
}

TEST_CASE("a waiter that sleeps is woken, and a thread that waits for its end wakes with it") {
  SleepWatch watch;
  BiasedMutex mutex;
  std::atomic<bool> has_ended{false};
  std::jthread sleeper([&] {
    SleepWatch::Lock lock(mutex);
    watch.keep(lock, SleepWatch::Sleeper::waiter, 60s);
  });
  std::jthread other([&] {
    SleepWatch::Lock lock(mutex);
    while (!watch.is_kept()) {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
    watch.wake_waiters();
    const auto began = Clock::now();
    if (watch.is_kept()) watch.wait_for_end(lock, 60s);
    has_ended = Clock::now() - began < 30s;
  });
  sleeper.join();
  other.join();
  CHECK(has_ended);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
