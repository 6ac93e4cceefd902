// Collectives on device memory by way of the host, for machines whose GPUs have no way to each
// other of their own.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "comm/gpu/device_owned.hpp"
#include "comm/gpu/staging_slot.hpp"

namespace fastgpu::comm::gpu {

/// A collective on device memory that was begun.
class StagedRequest {
 public:
  /// Whether `wait` would return at once. Never blocks.
  bool test() const;

  /// Blocks until the result is on its way back, and makes the stream that the call was given wait
  /// for it. Throws what the call failed with.
  void wait();

  /// Blocks until the call is done, however it ended.
  void finish() const;

 private:
  friend class StagedCollectives;
  StagedRequest(std::shared_ptr<Device> device, StreamHandle stream);

  std::shared_ptr<Device> device_;  ///< Shared with everything that needs it.
  StreamHandle stream_;
  DeviceEvent given_;  ///< What was in the stream before the call.
  DeviceEvent back_;   ///< The result.
  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  bool is_done_ = false;
  std::optional<Error> failure_;
};

/// Every rank makes the same calls in the same order. A call begins after what `stream` holds, and
/// returns at once; its data is not touched until it is done. Large data travels in parts: while
/// one is between the ranks, others are on their way from the device and back to it.
///
/// Spans are of the device's memory, else ErrorKind::usage; lengths are checked as Communicator
/// does. A device that fails ends the job on all ranks, in a sentence that names this one.
class StagedCollectives {
 public:
  using Request = std::shared_ptr<StagedRequest>;  ///< Shared with the thread that works on it.

  /// A collective call.
  StagedCollectives(Communicator& ranks, std::shared_ptr<Device> device);
  StagedCollectives(const StagedCollectives&) = delete;
  StagedCollectives& operator=(const StagedCollectives&) = delete;
  ~StagedCollectives();  ///< Waits for what was begun.

  Request all_reduce(std::span<std::byte> data, Reduction reduction, StreamHandle stream);
  Request reduce_scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                         Reduction reduction, StreamHandle stream);
  Request all_gather(std::span<const std::byte> mine, std::span<std::byte> all,
                     StreamHandle stream);
  Request broadcast(std::span<std::byte> data, Rank root, StreamHandle stream);
  Request all_to_all(std::span<const std::byte> out, std::span<std::byte> in, StreamHandle stream);

 private:
  /// Begins the collective on host memory.
  using Start = std::function<Handle(std::span<std::byte> in, std::span<std::byte> out)>;
  struct Part {
    std::span<const std::byte> in;
    std::span<std::byte> out;  ///< Where it is `in`, the host reduces in place.
  };
  struct Task {
    std::vector<Part> parts;
    Start start;
    Request request;
  };

  Request submit(std::vector<Part> parts, Start start, StreamHandle stream);
  void work(const std::stop_token& stop);
  void run(Task& task);
  void move_parts(const Task& task);

  std::shared_ptr<Device> device_;
  Communicator ranks_;
  DeviceStream stream_;
  std::vector<std::unique_ptr<StagingSlot>> slots_;
  std::mutex mutex_;
  std::condition_variable_any queued_;
  std::deque<Task> queue_;
  std::jthread worker_;  ///< Last: it ends before what it works with.
};

}  // namespace fastgpu::comm::gpu
