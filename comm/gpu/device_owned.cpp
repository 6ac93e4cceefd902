#include "comm/gpu/device_owned.hpp"

#include "base/error.hpp"

namespace fastgpu::comm::gpu {

Pinned::Pinned(Device& device, std::span<std::byte> host) : device_(&device) {
  if (host.empty()) return;
  try {
    device.pin(host);
    memory_ = host.data();
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::capacity) throw;
  }
}

void finish_quietly(Device& device, StreamHandle stream) noexcept {
  try {
    const DeviceEvent all = event_of(device);
    device.record(all.get(), stream);
    device.synchronize(all.get());
  } catch (const Error&) {
    return;  // No work is under way any more.
  }
}

}  // namespace fastgpu::comm::gpu
