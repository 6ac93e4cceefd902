// Collectives and messages on device memory, whichever way they go.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "comm/communicator.hpp"
#include "comm/gpu/device.hpp"

namespace fastgpu::comm::gpu {

/// A call on device memory that was begun. Does not outlive the DeviceCollectives that it is of.
class DeviceRequest {
 public:
  virtual ~DeviceRequest() = default;

  /// Whether `wait` would return at once. Never blocks.
  virtual bool test() = 0;

  /// Blocks until the result is on its way, and makes the stream that the call was given wait for
  /// it. Throws what the call has failed with by then.
  virtual void wait() = 0;

  /// Blocks until the result is there. Throws what the call has failed with.
  virtual void wait_here() = 0;

  /// Blocks until the call is done, however it ended.
  virtual void finish() noexcept = 0;
};

/// One call: what is read, what is written, and with whom.
struct DeviceCall {
  CallKind kind = CallKind::all_reduce;
  Way way = Way::none;  ///< Of a message.
  std::span<const std::byte> in{};
  std::span<std::byte> out{};  ///< The same memory as `in` where the call works in place.
  Reduction reduction{};
  Rank peer{};  ///< The root of a broadcast, the other rank of a message.
};

/// Every rank makes the same calls in the same order, but for messages. A call begins after what
/// `stream` holds and returns at once; its data is not touched until it is done. One thread at a
/// time.
///
/// Throws ErrorKind::usage for spans that are not of the device's memory, for lengths that do not
/// fit, and for ranks that there are not; nothing has begun then. A device that fails, or a rank
/// that is gone, ends the job on all ranks, in a sentence that names the rank.
class DeviceCollectives {
 public:
  using Request = std::shared_ptr<DeviceRequest>;  ///< Shared with those who work on it.

  virtual ~DeviceCollectives() = default;  ///< Waits for what was begun.
  DeviceCollectives(const DeviceCollectives&) = delete;
  DeviceCollectives& operator=(const DeviceCollectives&) = delete;

  Request all_reduce(std::span<std::byte> data, Reduction reduction, StreamHandle stream);
  Request reduce_scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                         Reduction reduction, StreamHandle stream);
  Request all_gather(std::span<const std::byte> mine, std::span<std::byte> all,
                     StreamHandle stream);
  Request broadcast(std::span<std::byte> data, Rank root, StreamHandle stream);
  Request all_to_all(std::span<const std::byte> out, std::span<std::byte> in, StreamHandle stream);

  // Messages between two ranks keep their order, and have the same length on both sides.
  Request send(std::span<const std::byte> data, Rank to, StreamHandle stream);
  Request receive(std::span<std::byte> data, Rank from, StreamHandle stream);

 protected:
  DeviceCollectives(Communicator ranks, std::shared_ptr<Device> device)
      : ranks_(std::move(ranks)), device_(std::move(device)) {}

  /// `call` is checked.
  virtual Request submit(const DeviceCall& call, StreamHandle stream) = 0;

  Communicator ranks_;              ///< Of nobody else.
  std::shared_ptr<Device> device_;  ///< Shared with whoever lent it.

 private:
  Request checked(const DeviceCall& call, StreamHandle stream);
  void check_rank(const std::string& call, Rank rank) const;
};

}  // namespace fastgpu::comm::gpu
