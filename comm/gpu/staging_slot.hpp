// Host memory that parts of device memory pass through, one after the other.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "comm/entry/fusion_buffer.hpp"
#include "comm/gpu/device_owned.hpp"

namespace fastgpu::comm::gpu {

/// Pinned, and readable by ranks of this host. Its copies are made on one stream.
class StagingSlot {
 public:
  /// Borrows both.
  StagingSlot(Device& device, Communicator& ranks, StreamHandle stream);

  /// The next part. Where `in` and `out` are the same memory, so they are here.
  void fetch(std::span<const std::byte> in, std::span<std::byte> out);

  /// Blocks until the part is here; then hands out where `in` and `out` are.
  struct Here {
    std::span<std::byte> in;
    std::span<std::byte> out;
  };
  Here arrived() const;

  void begun(Handle handle) { under_way_.emplace(std::move(handle)); }
  void put_back();                                 ///< Once what has begun is done.
  void give_up() noexcept { under_way_.reset(); }  ///< Waits for what has begun.

 private:
  void make_room(std::size_t bytes);

  Device& device_;
  Communicator& ranks_;
  StreamHandle stream_;
  DeviceEvent arrived_;
  std::unique_ptr<FusionBuffer> memory_;
  std::unique_ptr<Pinned> pinned_;
  std::span<std::byte> out_;  ///< On the device.
  Here here_;
  std::optional<Handle> under_way_;
};

}  // namespace fastgpu::comm::gpu
