#include "comm/gradients/stall_watchdog.hpp"

#include <utility>

#include "comm/common/start_thread.hpp"

namespace fastgpu::comm {

StallWatchdog::StallWatchdog(std::mutex& mutex, std::chrono::milliseconds limit, OnStall on_stall)
    : mutex_(mutex),
      limit_(limit),
      on_stall_(std::move(on_stall)),
      thread_(start_thread([this](const std::stop_token& stop) { watch(stop); })) {}

void StallWatchdog::step_begins() {
  ++step_;
  began_ = std::chrono::steady_clock::now();
  step_ended_.notify_all();
}

void StallWatchdog::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const std::uint64_t seen = step_;
    const auto has_moved_on = [&] { return step_ != seen; };
    for (auto lasted = limit_; !has_moved_on(); lasted *= 2) {
      step_ended_.wait_until(lock, stop, began_ + lasted, has_moved_on);
      if (stop.stop_requested()) return;
      if (!has_moved_on()) on_stall_(lasted);
    }
  }
}

}  // namespace fastgpu::comm
