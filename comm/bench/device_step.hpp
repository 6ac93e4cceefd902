// A step of the gradient entry with gradients on a device, beside copies that nobody can do
// without.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/entry/settings.hpp"
#include "comm/gpu/device.hpp"

namespace fastgpu::comm::bench {

/// Medians, in seconds.
struct DeviceStep {
  double step = 0;  ///< From the first `ready` until the device has the results.
  /// For the bytes of a step, as they are on the wire, to get into pinned memory of the host and
  /// back, one way after the other.
  double copies = 0;
};

/// Of float32 gradients with `elements` each, on the only rank of a job: what is measured is how
/// they get to where ranks exchange them and back, not the exchange. Results are checked. Throws
/// ErrorKind::remote where one is wrong.
DeviceStep measure_device_step(const std::shared_ptr<gpu::Device>& device,
                               const std::vector<std::size_t>& elements,
                               const EntrySettings& settings);

}  // namespace fastgpu::comm::bench
