// Calls on device memory by way of the host, one after the other.
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
#include "comm/communicator/communicator.hpp"
#include "comm/gpu/device_collectives.hpp"
#include "comm/gpu/device_owned.hpp"
#include "comm/gpu/staging_slot.hpp"

namespace fastgpu::comm::gpu {

class StagedRequest final : public DeviceRequest {
 public:
  StagedRequest(std::shared_ptr<Device> device, StreamHandle stream);

  bool test() override;
  void wait() override;
  void wait_here() override;
  void finish() noexcept override;

 private:
  friend class StagedQueue;

  std::shared_ptr<Device> device_;  ///< Shared with all its other users.
  StreamHandle stream_;
  DeviceEvent given_;  ///< The content of the stream before the call.
  DeviceEvent back_;   ///< The result.
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_done_ = false;
  std::optional<Error> failure_;
};

/// A queue whose thread takes large data through the host in parts. While one is between the ranks,
/// others are on their way from the device and back to it.
class StagedQueue {
 public:
  /// A function that begins the call on host memory.
  using Start =
      std::function<Handle(Communicator& ranks, std::span<std::byte> in, std::span<std::byte> out)>;
  struct Part {
    std::span<const std::byte> in;
    std::span<std::byte> out;  ///< Equal to `in` if the host works in place.
  };

  /// Starts the thread. `ranks` makes no call of the same kinds elsewhere.
  StagedQueue(Communicator ranks, std::shared_ptr<Device> device);
  StagedQueue(const StagedQueue&) = delete;
  StagedQueue& operator=(const StagedQueue&) = delete;
  ~StagedQueue();  ///< Waits for all added calls.

  /// Adds a call, from any thread. It goes through in `parts`, each of which is begun by `start`.
  /// Parts of a message with `peer` stay on the device if the network takes its memory.
  std::shared_ptr<StagedRequest> add(std::vector<Part> parts, Start start, StreamHandle stream,
                                     std::optional<Rank> peer = {});

 private:
  struct Task {
    std::vector<Part> parts;
    Start start;
    std::shared_ptr<StagedRequest> request;  ///< Shared with its caller.
    std::optional<Rank> peer{};
  };

  void work(const std::stop_token& stop);
  void run(Task& task);
  void move_parts(const Task& task);

  Communicator ranks_;
  std::shared_ptr<Device> device_;  ///< Shared with the requests.
  DeviceStream stream_;
  std::vector<std::unique_ptr<StagingSlot>> slots_;
  std::mutex mutex_;
  std::condition_variable_any queued_;
  std::deque<Task> queue_;
  std::jthread worker_;  ///< Declared last, to end before what it works with.
};

}  // namespace fastgpu::comm::gpu
