// One GPU as the rest of the library sees it: its memory, its queues of work, and the kernels that
// move tensors. cuda_device.hpp has the real one; tests have one that computes on the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "comm/kernels/pack.hpp"

struct CUstream_st;
struct CUevent_st;

namespace fastgpu::comm::gpu {

/// CUDA's cudaStream_t and cudaEvent_t. A null stream is the default one.
using StreamHandle = CUstream_st*;
using EventHandle = CUevent_st*;

/// The identity of one GPU, the same in every process.
using DeviceIdentity = std::array<std::uint8_t, 16>;

class NcclLibrary;

/// A tensor and its place in a buffer.
struct PlacedTensor {
  Tensor tensor;
  std::size_t place = 0;  ///< The number of elements before it in the buffer.
};

/// Tensors of one type in a device's memory, prepared once for kernels that go through all of them
/// in one launch.
class PackList {
 public:
  virtual ~PackList() = default;

  /// Returns the result of the last pack_checked; valid once its stream has passed it.
  virtual std::optional<NonFinite> found() const = 0;
};

/// A GPU, for any thread, and many at a time. Work is put into streams; only `synchronize` waits
/// for it. Throws ErrorKind::capacity if memory is short, ErrorKind::local if the device refuses or
/// has failed. A device that has failed stays unusable.
class Device {
 public:
  virtual ~Device() = default;

  virtual DeviceIdentity identity() const = 0;

  /// Calls `action` while this is the calling thread's current device.
  virtual void as_current(const std::function<void()>& action) = 0;

  /// Loads NCCL, as NcclLibrary does: the file `path`, or the usual one if that is empty.
  virtual std::shared_ptr<const NcclLibrary> load_nccl(const std::string& path) const = 0;

  /// Throws ErrorKind::usage if `data` is not in this device's own memory.
  virtual void check_is_here(const void* data) const = 0;

  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void free(std::byte* memory) noexcept = 0;

  /// Lets the device copy from and to this memory of the host directly. Throws ErrorKind::capacity
  /// if the system refuses.
  virtual void pin(std::span<std::byte> host) = 0;
  virtual void unpin(std::byte* host) noexcept = 0;

  virtual StreamHandle make_stream() = 0;
  virtual void destroy(StreamHandle stream) noexcept = 0;
  virtual EventHandle make_event() = 0;
  virtual void destroy(EventHandle event) noexcept = 0;

  virtual void record(EventHandle event, StreamHandle stream) = 0;
  virtual void wait(StreamHandle stream, EventHandle event) = 0;  ///< The stream waits.
  virtual void synchronize(EventHandle event) = 0;                ///< The caller waits.
  virtual bool has_passed(EventHandle event) = 0;                 ///< Waits for nothing.

  /// Copies as many bytes as both spans have, between device and host or within one of them. Host
  /// memory that is not pinned may make this block.
  virtual void copy(std::span<std::byte> to, std::span<const std::byte> from,
                    StreamHandle stream) = 0;

  /// Blocks until the device has the list. Throws ErrorKind::usage for 2^32 tensors and more.
  virtual std::unique_ptr<PackList> prepare(std::span<const PlacedTensor> tensors) = 0;

  // `buffer` is this device's memory, long enough for every place. These functions throw
  // ErrorKind::usage for a conversion that is not possible, and give the bits of comm/kernels.
  virtual void pack(std::span<std::byte> buffer, PackList& list, const Conversion& conversion,
                    StreamHandle stream) = 0;
  virtual void pack_checked(std::span<std::byte> buffer, PackList& list,
                            const Conversion& conversion, StreamHandle stream) = 0;
  virtual void unpack(PackList& list, std::span<const std::byte> buffer,
                      const Conversion& conversion, StreamHandle stream) = 0;
};

}  // namespace fastgpu::comm::gpu
