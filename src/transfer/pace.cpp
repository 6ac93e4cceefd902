#include "transfer/pace.hpp"

#include <algorithm>
#include <thread>

namespace fastgpu::transfer {

using namespace std::chrono_literals;

std::chrono::nanoseconds time_for(std::uint64_t passed, BitRate rate) {
  const double seconds =
      8.0 * static_cast<double>(passed) / static_cast<double>(rate.bits_per_second);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
}

void Pace::pass(std::size_t bytes, const Cancel& cancel) {
  if (!rate_) return;
  const auto now = std::chrono::steady_clock::now();
  if (passed_ == 0) began_ = now;
  passed_ += bytes;
  const auto due = began_ + time_for(passed_, *rate_);
  for (auto at = now; at < due && !cancel.requested(); at = std::chrono::steady_clock::now())
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(due - at, 50ms));
}

}  // namespace fastgpu::transfer
