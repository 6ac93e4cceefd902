// How a thread waits that has nothing to do: awake at first, then leaving the core to others, then
// asleep.
#pragma once

#include <sched.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fastgpu::comm {

class Patience {
 public:
  /// `yields`: how often others get the core before this thread sleeps.
  explicit Patience(int yields) : last_(kSpins + yields) {}

  void reset() noexcept { waited_ = 0; }

  /// True once it is time to sleep.
  bool pause() noexcept {
    if (waited_ >= last_) return true;
    if (waited_++ < kSpins)
      relax();
    else
      ::sched_yield();
    return false;
  }

 private:
  /// Some microseconds: what an answer takes between two ranks that both run. With more ranks than
  /// cores nobody answers while this one spins.
  static constexpr int kSpins = 50;

  static void relax() noexcept {
#if defined(__x86_64__)
    _mm_pause();
#endif
  }

  int last_;
  int waited_ = 0;
};

}  // namespace fastgpu::comm
