#include "base/cancel.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace fastgpu {

Cancel::Cancel() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw system_error("making an event descriptor", errno);
}

void Cancel::request() noexcept {
  const int saved = errno;
  requested_.store(true, std::memory_order_relaxed);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
  errno = saved;
}

}  // namespace fastgpu
