// Signs of life of a call that may have no output for long.
#pragma once

namespace fastgpu::agent {

/// Starts to write kPulse (base/pulse.hpp) to the error output every few seconds, until this
/// process ends. A client without any output may then take the node for gone.
void start_pulse();

}  // namespace fastgpu::agent
