// An array in a device's memory, written and read by the test.
#pragma once

#include <span>
#include <vector>

#include "comm/gpu/device_owned.hpp"

namespace fastgpu::test {

/// Borrows the device.
template <class T>
class DeviceValues {
 public:
  DeviceValues(comm::gpu::Device& device, const std::vector<T>& values)
      : device_(device), memory_(device, values.size() * sizeof(T)) {
    write(values);
  }

  void write(const std::vector<T>& values, comm::gpu::StreamHandle stream = nullptr) {
    device_.copy(bytes(), std::as_bytes(std::span(values)), stream);
    wait_for(stream);
  }

  /// What is there once the stream has passed what is in it.
  std::vector<T> read(comm::gpu::StreamHandle stream = nullptr) const {
    std::vector<T> values(bytes().size() / sizeof(T));
    device_.copy(std::as_writable_bytes(std::span(values)), bytes(), stream);
    wait_for(stream);
    return values;
  }

  std::span<std::byte> bytes() const { return memory_.span(); }
  T* data() const { return reinterpret_cast<T*>(bytes().data()); }

 private:
  void wait_for(comm::gpu::StreamHandle stream) const {
    const auto done = comm::gpu::event_of(device_);
    device_.record(done.get(), stream);
    device_.synchronize(done.get());
  }

  comm::gpu::Device& device_;
  comm::gpu::DeviceMemory memory_;
};

}  // namespace fastgpu::test
