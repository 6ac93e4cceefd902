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

#include "comm/codecs/codec_table.hpp"
#include "comm/kernels/pack.hpp"
#include "comm/kernels/reduce.hpp"

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

/// A stretch of float32 numbers that a codec encodes alone.
struct CodeStretch {
  std::size_t at = 0;  ///< The number of elements before it in their buffer.
  std::size_t count = 0;
  std::size_t code = 0;      ///< The place of its code among those of a call, in bytes.
  std::uint64_t chance = 0;  ///< A number whose XOR with the seed of a call is the seed.
};

/// Stretches with their codec in a device's memory, prepared once for kernels that go through all
/// of them. Used by one stream at a time.
class CodeList {
 public:
  virtual ~CodeList() = default;
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

  /// Returns once what a network has written into this device's memory is seen by work that is put
  /// into streams afterwards.
  virtual void settle_network_writes() {}

  // `buffer` is this device's memory, long enough for every place. These functions throw
  // ErrorKind::usage for a conversion that is not possible, and give the bits of comm/kernels.
  virtual void pack(std::span<std::byte> buffer, PackList& list, const Conversion& conversion,
                    StreamHandle stream) = 0;
  virtual void pack_checked(std::span<std::byte> buffer, PackList& list,
                            const Conversion& conversion, StreamHandle stream) = 0;
  virtual void unpack(PackList& list, std::span<const std::byte> buffer,
                      const Conversion& conversion, StreamHandle stream) = 0;

  /// Blocks until the device has the list. Throws ErrorKind::usage for a codec that is linear.
  virtual std::unique_ptr<CodeList> prepare(const CodecChoice& codec,
                                            std::span<const CodeStretch> stretches) = 0;

  // All memory here is the device's, and its numbers are float32. The bits are those of
  // comm/codecs and comm/kernels.

  /// Encodes. A codec that has feedback leaves what its codes do not carry in `numbers`.
  virtual void encode(std::span<std::byte> code, std::span<std::byte> numbers, CodeList& list,
                      std::uint64_t seed, StreamHandle stream) = 0;
  /// Adds what codes stand for. Codec::check has allowed each.
  virtual void add_codes(std::span<std::byte> sum, std::span<const std::byte> code, CodeList& list,
                         StreamHandle stream) = 0;
  virtual void clear(std::span<std::byte> memory, StreamHandle stream) = 0;  ///< Sets it to 0.
  virtual void add(std::span<std::byte> sum, std::span<const std::byte> numbers,
                   StreamHandle stream) = 0;
  /// Turns the sum of the numbers of so many ranks into the result of `op`.
  virtual void finish(std::span<std::byte> sum, ReduceOp op, int ranks, StreamHandle stream) = 0;
};

}  // namespace fastgpu::comm::gpu
