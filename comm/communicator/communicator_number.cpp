#include "comm/communicator/communicator_number.hpp"

#include <thread>

#include "base/error.hpp"

namespace fastgpu::comm {

std::uint32_t Contexts::lowest_free(std::uint32_t least) const {
  const std::lock_guard lock(mutex_);
  while (least < kMostContexts && taken_[least])
    ++least;
  return least;
}

void Contexts::take(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  taken_[number] = true;
}

void Contexts::give_back(std::uint32_t number, std::uint64_t end) {
  const std::lock_guard lock(mutex_);
  taken_[number] = false;
  end_ = std::max(end_, end);
}

std::uint64_t Contexts::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

void CallOrder::wait(bool is_collective) {
  while (!mutex_.try_lock()) {
    if (is_collective && begins_collective_.load(std::memory_order_relaxed))
      throw Error(
          ErrorKind::usage,
          "two threads begin calls of one communicator at the same time: every rank makes the "
          "same calls in the same order, so begin them all in one thread");
    std::this_thread::yield();
  }
}

}  // namespace fastgpu::comm
