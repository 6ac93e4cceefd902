// Host memory through which parts of device memory pass, one after the other.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "comm/fusion/fusion_buffer.hpp"
#include "comm/gpu/device_owned.hpp"

namespace fastgpu::comm::gpu {

/// A slot that is pinned, and readable by ranks of this host. Its copies are made on one stream.
/// One part passes by fetch(), arrived(), a call of the ranks on its copies, begun() and
/// put_back().
class StagingSlot {
 public:
  /// Borrows the device, the communicator and the stream.
  StagingSlot(Device& device, Communicator& ranks, StreamHandle stream);

  /// Begins to copy the next part to the host. If `in` and `out` are the same memory, they are the
  /// same here. A message with `peer` stays where it is if the network takes the device's memory.
  void fetch(std::span<const std::byte> in, std::span<std::byte> out,
             std::optional<Rank> peer = {});

  /// The copies of `in` and `out` on the host.
  struct Here {
    std::span<std::byte> in;
    std::span<std::byte> out;
  };
  Here arrived() const;  ///< Waits for the copy.

  /// Takes the call that works on the copies.
  void begun(Handle handle) { under_way_.emplace(std::move(handle)); }
  /// Waits for that call, and begins to copy its result to the device.
  void put_back();
  /// Waits for that call if there is one, and drops its result.
  void give_up() noexcept;

 private:
  void make_room(std::size_t bytes);
  bool stays(std::span<const std::byte> in, std::span<std::byte> out, Rank peer);
  void give_back();

  /// Memory of the device that the network uses.
  struct Taken {
    Rank peer{};
    std::span<const std::byte> memory{};
  };

  Device& device_;
  Communicator& ranks_;
  StreamHandle stream_;
  DeviceEvent arrived_;
  std::unique_ptr<FusionBuffer> memory_;
  std::unique_ptr<Pinned> pinned_;
  std::span<std::byte> out_;  ///< Memory of the device.
  Here here_;
  std::optional<Taken> taken_;
  std::optional<Handle> under_way_;
};

}  // namespace fastgpu::comm::gpu
