// A mutex that is cheap for one thread.
#pragma once

#include <atomic>
#include <cassert>
#include <mutex>

namespace fastgpu::comm {

/// A mutex that costs the thread that has made it no atomic operation, as long as no other thread
/// has locked it; from then on it is a std::mutex. An atomic operation waits until all stores
/// before it have reached memory: if another core has just read that memory, for as long as a short
/// message takes.
class BiasedMutex {
 public:
  /// Without barriers of the kernel it is a std::mutex from the beginning.
  BiasedMutex() noexcept;
  BiasedMutex(const BiasedMutex&) = delete;
  BiasedMutex& operator=(const BiasedMutex&) = delete;

  void lock() {
    if (!lock_as_owner()) lock_as_other();
  }
  bool try_lock() { return lock_as_owner() || try_lock_as_other(); }
  void unlock() noexcept {
    if (is_biased_)
      is_held_by_owner_.store(false, std::memory_order_release);
    else
      mutex_.unlock();
  }

 private:
  bool lock_as_owner() noexcept;
  void lock_as_other();
  bool try_lock_as_other();
  void share() noexcept;

  const void* const owner_ = __builtin_thread_pointer();
  /// Written by the owner alone. Once the mutex is shared, true for an instant at most.
  std::atomic<bool> is_held_by_owner_{false};
  std::atomic<bool> is_shared_{false};
  bool is_biased_ = false;  ///< How the present holder has got it; of the holder alone.
  std::mutex mutex_;
};

/// The owner stores and then loads, and a thread that shares the mutex stores, makes a barrier for
/// both, and loads: so at least one of them sees what the other has stored.
inline bool BiasedMutex::lock_as_owner() noexcept {
  if (__builtin_thread_pointer() != owner_) return false;
  assert(!is_held_by_owner_.load(std::memory_order_relaxed));
  is_held_by_owner_.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (!is_shared_.load(std::memory_order_acquire)) return is_biased_ = true;
  is_held_by_owner_.store(false, std::memory_order_release);
  return false;
}

}  // namespace fastgpu::comm
