#include "comm/engine/fork_guard.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "comm/common/process_end.hpp"

namespace fastgpu::comm {

/// All guards of the process: fork() knows nothing of who is concerned.
class ForkGuards {
 public:
  static ForkGuards& all() {
    static ForkGuards* const the_guards =
        new ForkGuards;  // fork() may come after exit() has begun.
    return *the_guards;
  }

  void add(ForkGuard* guard) {
    const std::lock_guard lock(mutex_);
    guards_.push_back(guard);
  }
  void add(ForkGuard& guard, int descriptor) {
    const std::lock_guard lock(mutex_);
    guard.descriptors_.push_back(descriptor);
  }
  void forget(ForkGuard& guard, int descriptor) {
    const std::lock_guard lock(mutex_);
    std::erase(guard.descriptors_, descriptor);
  }
  void remove(ForkGuard* guard) {
    const std::lock_guard lock(mutex_);
    std::erase(guards_, guard);
  }

  /// Ends the connections of all ranks of this process, as its end would. Where another thread is
  /// about to open or close one, the process's end follows soon.
  static void end_connections() {
    const std::unique_lock lock(all().mutex_, std::try_to_lock);
    if (!lock) return;
    for (const ForkGuard* const guard : all().guards_)
      for (const int descriptor : guard->descriptors_)
        ::shutdown(descriptor, SHUT_WR);  // Fails on what is no socket, which does not matter.
  }

 private:
  ForkGuards() {
    before_process_ends(&ForkGuards::end_connections);
    ::pthread_atfork([] { all().mutex_.lock(); }, [] { all().mutex_.unlock(); },
                     [] {
                       for (ForkGuard* const guard : all().guards_)
                         guard->become_child();
                       all().mutex_.unlock();
                     });
  }

  std::mutex mutex_;
  std::vector<ForkGuard*> guards_;
};

ForkGuard::ForkGuard(std::vector<int> descriptors) : descriptors_(std::move(descriptors)) {
  ForkGuards::all().add(this);
}

ForkGuard::~ForkGuard() {
  ForkGuards::all().remove(this);
}

void ForkGuard::add(int descriptor) {
  ForkGuards::all().add(*this, descriptor);
}

void ForkGuard::forget(int descriptor) {
  ForkGuards::all().forget(*this, descriptor);
}

/// The numbers stay taken: what owns them closes them once, and then they are nothing else's.
void ForkGuard::become_child() noexcept {
  is_child_ = true;
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (const int descriptor : descriptors_) {
    if (nothing >= 0)
      ::dup3(nothing, descriptor, O_CLOEXEC);
    else
      ::close(descriptor);
  }
  if (nothing >= 0) ::close(nothing);
}

}  // namespace fastgpu::comm
