#include "base/periodic_thread.hpp"

#include <utility>

namespace fastgpu {

PeriodicThread::PeriodicThread(std::chrono::milliseconds pause, std::function<void()> work,
                               First first)
    : pause_(pause),
      work_(std::move(work)),
      first_(first),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void PeriodicThread::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void PeriodicThread::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (first_ == First::at_once) work_();
  while (!woken_.wait_for(lock, stop, pause_, [&] { return stop.stop_requested(); }))
    work_();
}

}  // namespace fastgpu
