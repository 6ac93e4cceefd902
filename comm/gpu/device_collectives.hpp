// Collectives and messages on device memory, for any device path.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "comm/communicator/communicator.hpp"
#include "comm/gpu/device.hpp"

namespace fastgpu::comm::gpu {

/// A begun call on device memory. Does not outlive its DeviceCollectives.
class DeviceRequest {
 public:
  virtual ~DeviceRequest() = default;

  /// Returns true if `wait` would return at once. Never blocks.
  virtual bool test() = 0;

  /// Blocks until the result is on its way, and makes the stream of the call wait for it. Throws
  /// the call's failure, if it has failed by then.
  virtual void wait() = 0;

  /// Blocks until the result has arrived. Throws the call's failure.
  virtual void wait_here() = 0;

  /// Blocks until the call has ended, successfully or not.
  virtual void finish() noexcept = 0;
};

/// One call: its input, its output, and its partner.
struct DeviceCall {
  CallKind kind = CallKind::all_reduce;
  std::optional<Direction> direction{};  ///< The direction of a message.
  std::span<const std::byte> in{};
  std::span<std::byte> out{};  ///< Equal to `in` if the call works in place.
  Reduction reduction{};
  ElementType moved = ElementType::uint8;  ///< The type of elements that are moved, not reduced.
  Rank peer{};  ///< The root of a broadcast, the other rank of a message.
};

/// Collectives of all ranks. Every rank makes the same calls in the same order, except for
/// messages. A call begins after what `stream` has in it and returns at once; its data is not
/// touched until it is done. One thread at a time.
///
/// Throws ErrorKind::usage for spans outside the device's memory, for lengths that do not fit, and
/// for ranks that do not exist; nothing has begun then. A device that fails, or a rank that is
/// gone, ends the job on all ranks, with a sentence that names the rank.
class DeviceCollectives {
 public:
  using Request = std::shared_ptr<DeviceRequest>;  ///< Shared with the queues that work on it.

  virtual ~DeviceCollectives() = default;  ///< Waits for begun calls.
  DeviceCollectives(const DeviceCollectives&) = delete;
  DeviceCollectives& operator=(const DeviceCollectives&) = delete;

  Request all_reduce(std::span<std::byte> data, Reduction reduction, StreamHandle stream);
  Request reduce_scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                         Reduction reduction, StreamHandle stream);
  // All ranks give the same type to these calls. NCCL does not compare types, the other ways do.
  Request all_gather(std::span<const std::byte> mine, std::span<std::byte> all, StreamHandle stream,
                     ElementType type = ElementType::uint8);
  Request broadcast(std::span<std::byte> data, Rank root, StreamHandle stream,
                    ElementType type = ElementType::uint8);
  Request all_to_all(std::span<const std::byte> out, std::span<std::byte> in, StreamHandle stream,
                     ElementType type = ElementType::uint8);

  // Messages between two ranks keep their order, and have the same length and type on both sides.
  Request send(std::span<const std::byte> data, Rank to, StreamHandle stream,
               ElementType type = ElementType::uint8);
  Request receive(std::span<std::byte> data, Rank from, StreamHandle stream,
                  ElementType type = ElementType::uint8);

 protected:
  DeviceCollectives(Communicator ranks, std::shared_ptr<Device> device)
      : ranks_(std::move(ranks)), device_(std::move(device)) {}

  /// Begins a call that has been checked.
  virtual Request submit(const DeviceCall& call, StreamHandle stream) = 0;

  Communicator ranks_;              ///< Used only here.
  std::shared_ptr<Device> device_;  ///< Shared with its lender.

 private:
  Request checked(const DeviceCall& call, StreamHandle stream);
  void check_rank(const std::string& call, Rank rank) const;
};

}  // namespace fastgpu::comm::gpu
