#include "base/wait.hpp"

#include <poll.h>

#include <algorithm>
#include <limits>

namespace fastgpu {

void wait_or_cancel(std::chrono::milliseconds duration, const Cancel& cancel) noexcept {
  constexpr std::chrono::milliseconds kLongest{std::numeric_limits<int>::max()};
  const auto bounded = std::clamp(duration, std::chrono::milliseconds(0), kLongest);
  pollfd stop{cancel.fd(), POLLIN, 0};
  ::poll(&stop, 1, static_cast<int>(bounded.count()));
}

}  // namespace fastgpu
