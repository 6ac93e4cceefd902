// A step of a gradient exchange with gradients on a device, beside the copies that every step
// needs.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/gpu/device.hpp"
#include "comm/gradients/gradient_settings.hpp"

namespace fastgpu::comm::bench {

/// The medians, in seconds.
struct DeviceStep {
  double step = 0;  ///< The time from the first `ready` until the device has the results.
  /// The time of a step's bytes, as they are on the wire, into pinned memory of the host and back,
  /// one way after the other.
  double copies = 0;
};

/// Measures steps with float32 gradients of `elements` each, on the only rank of a job. The figures
/// are for the way to the place of exchange and back, not for the exchange. Results are checked.
/// Throws ErrorKind::remote if one is wrong.
DeviceStep measure_device_step(const std::shared_ptr<gpu::Device>& device,
                               const std::vector<std::size_t>& elements,
                               const GradientSettings& settings);

}  // namespace fastgpu::comm::bench
