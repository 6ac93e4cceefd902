#include "launcher/beats.hpp"

#include <sys/eventfd.h>

#include <cerrno>

#include "agent/protocol/silence.hpp"
#include "base/error.hpp"

namespace fastgpu::launcher {

bool is_behind_another(const ssh::Host& host) {
  return !host.jumps.empty() || (host.openssh && !host.openssh->proxy.empty());
}

Beats::Beats(int wake)
    : own_(wake < 0 ? ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1),
      wake_(wake < 0 ? own_.get() : wake),
      thread_(agent::kBetweenClientBeats, [this] {
        is_due_ = true;
        ::eventfd_write(wake_, 1);
      }) {
  if (wake_ < 0) throw system_error("making an event", errno);
}

std::string Beats::take() {
  return is_due_.exchange(false) ? "." : "";
}

}  // namespace fastgpu::launcher
