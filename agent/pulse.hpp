// Signs of life of a call that may have nothing to say for long.
#pragma once

namespace fastgpu::agent {

/// From now on writes kPulse (base/pulse.hpp) to the error output every few seconds, until this
/// process ends. A client that hears nothing at all may then take the node for gone.
void start_pulse();

}  // namespace fastgpu::agent
