// Collectives and messages on device memory by way of the host, for machines whose GPUs cannot
// reach each other directly.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "comm/gpu/device_collectives.hpp"
#include "comm/gpu/staged_queue.hpp"

namespace fastgpu::comm::gpu {

/// Collectives by the host's own schedules, with the same bits. Messages with one rank wait for
/// none with another.
class StagedCollectives final : public DeviceCollectives {
 public:
  /// Sets up the queues, by a collective call.
  StagedCollectives(Communicator& ranks, std::shared_ptr<Device> device);

 private:
  Request submit(const DeviceCall& call, StreamHandle stream) override;
  StagedQueue& queue_of(const DeviceCall& call);

  StagedQueue collectives_;
  std::map<std::pair<Direction, Rank>, std::unique_ptr<StagedQueue>>
      messages_;  ///< Made when needed.
};

}  // namespace fastgpu::comm::gpu
