// Signs of life during a call that may have no output for a long time.
#pragma once

namespace fastgpu::agent {

/// Starts to write kPulse (base/pulse.hpp) to stderr every few seconds, until this process ends. A
/// client that receives nothing may thus assume that the node is gone.
void start_pulse();

}  // namespace fastgpu::agent
