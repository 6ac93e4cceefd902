#include "comm/common/biased_mutex.hpp"

#include <thread>

#include "comm/common/membarrier.hpp"

namespace fastgpu::comm {

BiasedMutex::BiasedMutex() noexcept : is_shared_(!register_for_barriers(BarrierReach::process)) {}

void BiasedMutex::lock_as_other() {
  mutex_.lock();
  share();
  while (is_held_by_owner_.load(std::memory_order_acquire))
    std::this_thread::yield();
  is_biased_ = false;
}

bool BiasedMutex::try_lock_as_other() {
  if (!mutex_.try_lock()) return false;
  share();
  if (!is_held_by_owner_.load(std::memory_order_acquire)) {
    is_biased_ = false;
    return true;
  }
  mutex_.unlock();
  return false;
}

void BiasedMutex::share() noexcept {
  if (is_shared_.load(std::memory_order_relaxed)) return;
  is_shared_.store(true, std::memory_order_release);
  make_barrier(BarrierReach::process);
}

}  // namespace fastgpu::comm
