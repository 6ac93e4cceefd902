// Collectives and messages on device memory by way of the host, for machines whose GPUs have no way
// to each other of their own.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "comm/gpu/device_collectives.hpp"
#include "comm/gpu/staged_queue.hpp"

namespace fastgpu::comm::gpu {

/// By the same schedules as the host's own, with the same bits. Nothing that goes to or comes from
/// one rank waits for what goes to another.
class StagedCollectives final : public DeviceCollectives {
 public:
  /// A collective call.
  StagedCollectives(Communicator& ranks, std::shared_ptr<Device> device);

 private:
  Request submit(const DeviceCall& call, StreamHandle stream) override;
  StagedQueue& queue_of(const DeviceCall& call);

  StagedQueue collectives_;
  std::map<std::pair<Way, Rank>, std::unique_ptr<StagedQueue>> messages_;  ///< Made when needed.
};

}  // namespace fastgpu::comm::gpu
