// The waiting of an idle thread: awake at first, then leaving the core to others, then asleep.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <chrono>

#include "comm/common/deadline.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fastgpu::comm {

/// Returns whether so many ranks of this machine have a core each.
inline bool have_a_core_each(int ranks) noexcept {
  return ranks <= ::sysconf(_SC_NPROCESSORS_ONLN);
}

/// Leaves a moment to the other thread of the core.
inline void relax() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// The chance that an answer comes while a thread stays awake, learnt from the waits before. It is
/// low if other programs want the cores. With more ranks than cores no rank should try: the one
/// that it waits for needs the core.
class SpinPolicy {
 public:
  explicit SpinPolicy(bool may_spin = true) : may_spin_(may_spin) {}

  /// Returns the number of looks of the next wait before it leaves the core. They take some
  /// microseconds, the time of an answer between two ranks that both run. Returns 0 if looking has
  /// been in vain of late. It then still tries now and then, because other ranks may have become
  /// fewer.
  int spins() noexcept {
    if (!may_spin_) return 0;
    if (in_vain_ < kMostInVain) return kSpins;
    return ++refrained_ % kWaitsBetweenTries == 0 ? kSpins : 0;
  }

  /// Returns the time for which a wait goes on looking, and leaves the core to others in between.
  /// If many want the core, each may keep it for milliseconds. Where ranks have no core each, a
  /// look takes time from those that are waited for, and a wait that is longer than this can as
  /// well pay for being woken.
  std::chrono::milliseconds longest_looking() const noexcept {
    return std::chrono::milliseconds(may_spin_ ? 20 : 1);
  }

  /// Lets this time pass. Other threads may have the core meanwhile if there are too few.
  void rest(std::chrono::steady_clock::duration time) const noexcept {
    const auto until = std::chrono::steady_clock::now() + time;
    do {
      if (may_spin_)
        relax();
      else
        ::sched_yield();
    } while (std::chrono::steady_clock::now() < until);
  }

  void ended(bool while_spinning) noexcept {
    if (while_spinning)
      in_vain_ = 0;
    else if (in_vain_ < kMostInVain)
      ++in_vain_;
  }

 private:
  static constexpr int kSpins = 50;
  static constexpr int kMostInVain = 4;
  static constexpr unsigned kWaitsBetweenTries = 16;

  bool may_spin_;
  int in_vain_ = 0;
  unsigned refrained_ = 0;
};

class AdaptiveWait {
 public:
  using Clock = std::chrono::steady_clock;

  AdaptiveWait(SpinPolicy& policy, int yields)
      : AdaptiveWait(policy, yields, policy.longest_looking()) {}

  /// Sets `yields`, the number of times that others get the core before this thread sleeps, but for
  /// no longer than `longest`.
  AdaptiveWait(SpinPolicy& policy, int yields, Clock::duration longest)
      : policy_(policy), yields_(yields), longest_(longest), spins_(policy.spins()) {}

  /// Begins anew, after the awaited event or a part of it.
  void reset() noexcept {
    if (waited_ == 0) return;
    policy_.ended(waited_ <= spins_);
    spins_ = policy_.spins();
    waited_ = 0;
  }

  /// Returns true once it is time to sleep.
  bool pause() noexcept {
    if (waited_ >= spins_ + yields_) return true;
    if (waited_++ < spins_) {
      relax();
      return false;
    }
    if (waited_ == spins_ + 1) yields_since_ = roughly_now();
    ::sched_yield();
    return roughly_now() - yields_since_ >= longest_;
  }

 private:
  SpinPolicy& policy_;
  int yields_;
  Clock::duration longest_;
  Clock::time_point yields_since_{};
  int spins_;
  int waited_ = 0;
};

}  // namespace fastgpu::comm
