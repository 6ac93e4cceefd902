// Owners of what a device lends.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "comm/gpu/device.hpp"

namespace fastgpu::comm::gpu {

/// Memory of a device, which is borrowed.
class DeviceMemory {
 public:
  DeviceMemory(Device& device, std::size_t bytes)
      : device_(&device), bytes_(bytes), memory_(bytes == 0 ? nullptr : device.allocate(bytes)) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() {
    if (memory_ != nullptr) device_->free(memory_);
  }

  std::span<std::byte> span() const noexcept { return {memory_, bytes_}; }

 private:
  Device* device_;
  std::size_t bytes_;
  std::byte* memory_;
};

/// Host memory that the device copies from and to directly while this lives. If the device cannot
/// have it, copies go another way, which takes longer.
class Pinned {
 public:
  Pinned(Device& device, std::span<std::byte> host);
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() {
    if (memory_ != nullptr) device_->unpin(memory_);
  }

 private:
  Device* device_;
  std::byte* memory_ = nullptr;  ///< Null if it is not pinned.
};

/// A stream or an event.
template <class Handle>
class DeviceHandle {
 public:
  DeviceHandle(Device& device, Handle handle) : device_(&device), handle_(handle) {}
  DeviceHandle(DeviceHandle&& other) noexcept
      : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}
  DeviceHandle& operator=(DeviceHandle&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~DeviceHandle() {
    if (handle_ != nullptr) device_->destroy(handle_);
  }

  Handle get() const noexcept { return handle_; }

 private:
  Device* device_;
  Handle handle_;
};

using DeviceStream = DeviceHandle<StreamHandle>;
using DeviceEvent = DeviceHandle<EventHandle>;

inline DeviceStream stream_of(Device& device) {
  return {device, device.make_stream()};
}
inline DeviceEvent event_of(Device& device) {
  return {device, device.make_event()};
}

/// Blocks until all work that is in the stream now is done. A device that has failed does nothing
/// any more.
void finish_quietly(Device& device, StreamHandle stream) noexcept;

}  // namespace fastgpu::comm::gpu
