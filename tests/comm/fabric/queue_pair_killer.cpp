// Puts every queue pair of a process into the error state some seconds after the first was made, as
// an adapter does after a failure. Loaded before other libraries (LD_PRELOAD).
// QUEUE_PAIR_KILLER_SECONDS is the time; without it nothing happens.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace {

// Values of libibverbs' interface, which does not change: its headers are not needed.
constexpr int kStateOfError = 6;  // IBV_QPS_ERR
constexpr int kOnlyTheState = 1;  // IBV_QP_STATE
using Create = void* (*)(void* domain, void* attributes);
using Modify = int (*)(void* pair, void* attributes, int mask);

void* function(const char* name) {
  void* const library = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library == nullptr ? nullptr : ::dlsym(library, name);
}

class Pairs {
 public:
  void add(void* pair) {
    const std::lock_guard lock(mutex_);
    all_.push_back(pair);
    if (all_.size() > 1) return;
    const char* const seconds = std::getenv("QUEUE_PAIR_KILLER_SECONDS");
    if (seconds == nullptr) return;
    const std::chrono::seconds time(std::atoi(seconds));
    std::thread([this, time] {
      std::this_thread::sleep_for(time);
      kill_all();
    }).detach();
  }

  void remove(void* pair) {
    const std::lock_guard lock(mutex_);
    std::erase(all_, pair);
  }

 private:
  void kill_all() {
    const std::lock_guard lock(mutex_);
    const auto modify = reinterpret_cast<Modify>(function("ibv_modify_qp"));
    for (void* const pair : all_) {
      struct {
        int state = kStateOfError;
        char rest[508] = {};
      } attributes;
      const int result = modify(pair, &attributes, kOnlyTheState);
      std::fprintf(stderr, "a queue pair was killed: %d\n", result);
    }
  }

  std::mutex mutex_;
  std::vector<void*> all_;
};

Pairs& pairs() {
  static Pairs* const the_pairs = new Pairs;  // Used until the process has ended.
  return *the_pairs;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* ibv_create_qp(void* domain,
                                                                      void* attributes) {
  void* const pair = reinterpret_cast<Create>(function("ibv_create_qp"))(domain, attributes);
  if (pair != nullptr) pairs().add(pair);
  return pair;
}

extern "C" __attribute__((visibility("default"))) int ibv_destroy_qp(void* pair) {
  pairs().remove(pair);
  return reinterpret_cast<int (*)(void*)>(function("ibv_destroy_qp"))(pair);
}
