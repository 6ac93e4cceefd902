#include "comm/common/biased_mutex.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace fastgpu::comm {
namespace {

TEST_SUITE_BEGIN("comm/biased_mutex");

/// Returns whether another thread gets the lock, which it gives back.
bool does_another_get(BiasedMutex& mutex) {
  bool has_got = false;
  std::jthread([&] {
    has_got = mutex.try_lock();
    if (has_got) mutex.unlock();
  }).join();
  return has_got;
}

TEST_CASE("while its maker holds it no other thread gets it, and then each does") {
  BiasedMutex mutex;
  for (int round = 0; round < 3; ++round) {  // By bias first, and then as a std::mutex.
    mutex.lock();
    CHECK_FALSE(does_another_get(mutex));
    mutex.unlock();
    CHECK(does_another_get(mutex));
  }
}

TEST_CASE("while another thread holds it its maker does not get it") {
  BiasedMutex mutex;
  std::atomic<int> stage{0};
  std::jthread other([&] {
    mutex.lock();
    stage = 1;
    while (stage != 2)
      std::this_thread::yield();
    mutex.unlock();
  });
  while (stage != 1)
    std::this_thread::yield();
  CHECK_FALSE(mutex.try_lock());
  stage = 2;
  mutex.lock();
  mutex.unlock();
  CHECK(mutex.try_lock());
  mutex.unlock();
}

TEST_CASE("another thread that comes while its maker locks and unlocks excludes it, each time") {
  // The moment at which the mutex becomes shared is the delicate one: once for each mutex.
  constexpr int kMutexes = 300;
  constexpr int kRounds = 200;
  for (int i = 0; i < kMutexes; ++i) {
    BiasedMutex mutex;
    long count = 0;
    std::atomic<bool> has_begun{false};
    const auto add = [&] {
      for (int round = 0; round < kRounds; ++round) {
        mutex.lock();
        const long before = count;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        count = before + 1;
        mutex.unlock();
        has_begun = true;
      }
    };
    std::jthread other([&] {
      while (!has_begun)
        std::this_thread::yield();
      add();
    });
    add();
    other.join();
    REQUIRE(count == 2 * kRounds);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
