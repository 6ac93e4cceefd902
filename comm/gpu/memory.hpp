// Owners of what CUDA lends a program: memory, streams, events. Everything is made on the calling
// thread's current device, and throws ErrorKind::local, or ErrorKind::capacity if memory is short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/c_handle.hpp"
#include "comm/gpu/device.hpp"

namespace fastgpu::comm::gpu {

/// Returns the number of devices; 0 without a driver.
int device_count() noexcept;

enum class Timing : std::uint8_t { off, on };

// Functions for owners other than the classes below.
std::byte* allocate_device(std::size_t bytes);
void free_device(std::byte* memory) noexcept;
void free_pinned(std::byte* memory) noexcept;
StreamHandle create_stream();  ///< Does not wait for the default stream.
EventHandle create_event(Timing timing);
void destroy_stream(StreamHandle stream) noexcept;
void destroy_event(EventHandle event) noexcept;

/// Memory of the device.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes);

  std::span<std::byte> span() const noexcept { return {memory_.get(), bytes_}; }

 private:
  std::size_t bytes_;
  CHandle<std::byte, free_device> memory_;
};

/// Memory of the host that devices copy from and to directly.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes);

  std::span<std::byte> span() const noexcept { return {memory_.get(), bytes_}; }

 private:
  std::size_t bytes_;
  CHandle<std::byte, free_pinned> memory_;
};

/// A place in a stream.
class Event {
 public:
  explicit Event(Timing timing = Timing::off);

  void record(StreamHandle stream);
  void synchronize() const;  ///< Blocks until all that was in the stream before it is done.
  EventHandle handle() const noexcept { return event_.get(); }

 private:
  CHandle<CUevent_st, destroy_event> event_;
};

/// Returns the time between two passed events, both recorded and with Timing::on.
double seconds_between(const Event& start, const Event& end);

/// A queue of work that does not wait for the default stream.
class GpuStream {
 public:
  GpuStream();

  StreamHandle handle() const noexcept { return stream_.get(); }
  void synchronize() const;

 private:
  CHandle<CUstream_st, destroy_stream> stream_;
};

/// Makes all later work in `stream` wait for `event`.
void wait_for(StreamHandle stream, const Event& event);

/// Copies as many bytes as both spans have, between device and host or within one of them, once the
/// stream comes to it. Host memory that is not pinned makes this block.
void copy_async(std::span<std::byte> to, std::span<const std::byte> from, StreamHandle stream);

/// Sets every byte.
void fill_async(std::span<std::byte> memory, std::byte value, StreamHandle stream);

}  // namespace fastgpu::comm::gpu
