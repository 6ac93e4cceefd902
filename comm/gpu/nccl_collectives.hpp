// Collectives and messages on device memory by NCCL, supervised: if a rank is gone or NCCL has
// failed, kernels that wait for ever are ended.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "comm/gpu/device_collectives.hpp"
#include "comm/gpu/device_owned.hpp"
#include "comm/gpu/nccl.hpp"

namespace fastgpu::comm::gpu {

/// Collectives by NCCL. `wait` returns once NCCL has the call. Later failures are reported by
/// `wait_here` and by every later call; the call's output is undefined then. A call fails if NCCL
/// has not ended it FASTGPU_COMM_TIMEOUT after its stream has come to it.
///
/// Messages go out once one of them is waited for or tested, or another kind of call is made. All
/// of them go together, so that two ranks may begin to send to each other.
class NcclCollectives final : public DeviceCollectives {
 public:
  /// Joins NCCL, by a collective call. Throws what NCCL refuses; other ranks may have been admitted
  /// by then.
  NcclCollectives(Communicator ranks, std::shared_ptr<Device> device,
                  std::shared_ptr<const NcclLibrary> library);
  ~NcclCollectives() override;

  /// Ends NCCL without waiting for other ranks. No other call may follow.
  void abandon() noexcept { nccl_->abort(); }

 private:
  class NcclRequest;
  /// Shared with the callers that wait for them.
  using Requests = std::vector<std::shared_ptr<NcclRequest>>;
  struct Message {
    DeviceCall call;
    std::shared_ptr<NcclRequest> request;
  };

  Request submit(const DeviceCall& call, StreamHandle stream) override;
  void launch(const Requests& requests, const std::function<void()>& give_to_nccl);
  void launch_messages();
  void give_to_nccl(const DeviceCall& call);
  void check() const;
  void give_up(const Error& error);
  void note(const Error& error);
  void watch(const std::stop_token& stop);
  void look();
  void check_trouble();

  std::shared_ptr<const NcclLibrary> library_;  ///< Shared with other communicators.
  DeviceStream stream_;
  std::unique_ptr<NcclCommunicator> nccl_;

  std::mutex mutex_;
  std::condition_variable_any launched_;
  std::vector<Message> messages_;  ///< Messages that have not gone out.
  std::deque<std::shared_ptr<NcclRequest>> under_way_;
  std::optional<Error> failure_;
  /// The start time of the first call under way.
  std::optional<std::chrono::steady_clock::time_point> begun_at_;
  /// The time since when a rank seems gone.
  std::optional<std::chrono::steady_clock::time_point> suspected_at_;
  std::jthread watch_;  ///< Declared last, to end before what it supervises.
};

}  // namespace fastgpu::comm::gpu
