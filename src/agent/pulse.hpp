// Signs of life during a call that may have no output for a long time.
#pragma once

#include <chrono>

#include "base/pulse.hpp"

namespace fastgpu::agent {

/// Starts to write kPulse (base/pulse.hpp) to stderr at this interval, until this process ends. A
/// client that receives nothing may thus assume that the node is gone.
void start_pulse(std::chrono::milliseconds interval = kBetweenPulses);

}  // namespace fastgpu::agent
