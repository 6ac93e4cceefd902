#include "comm/gradients/late_watch.hpp"

#include <utility>

namespace fastgpu::comm {

LateWatch::LateWatch(std::mutex& mutex, std::chrono::milliseconds limit, Late late)
    : mutex_(mutex),
      limit_(limit),
      late_(std::move(late)),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

void LateWatch::step_begins() {
  ++step_;
  began_ = std::chrono::steady_clock::now();
  step_ended_.notify_all();
}

void LateWatch::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const std::uint64_t seen = step_;
    const auto has_moved_on = [&] { return step_ != seen; };
    for (auto lasted = limit_; !has_moved_on(); lasted *= 2) {
      step_ended_.wait_until(lock, stop, began_ + lasted, has_moved_on);
      if (stop.stop_requested()) return;
      if (!has_moved_on()) late_(lasted);
    }
  }
}

}  // namespace fastgpu::comm
