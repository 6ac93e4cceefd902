#include "agent/pulse.hpp"

#include <signal.h>
#include <unistd.h>

#include <system_error>
#include <thread>

namespace fastgpu::agent {

void start_pulse(std::chrono::milliseconds interval) try {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // The main thread handles signals.
  std::thread([interval] {
    for (;;) {
      std::this_thread::sleep_for(interval);
      if (::write(STDERR_FILENO, &kPulse, 1) < 0) return;
    }
  }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
} catch (const std::system_error&) {
  return;  // If no thread can be started, the call may still end in time.
}

}  // namespace fastgpu::agent
