// Chooses the way of data in device memory, by NCCL or by way of the host: the same on all ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "comm/gpu/device_collectives.hpp"
#include "comm/gpu/device_settings.hpp"

namespace fastgpu::comm::gpu {

/// The means of one rank.
struct NcclOffer {
  std::int32_t version = 0;  ///< The version of NCCL, such as 22809; 0 if it cannot be loaded.
  DeviceIdentity device{};   ///< The rank's first device; all 0 if it has none.
  bool has_several = false;  ///< True if its data is on further devices too.
  DevicePath wish = DevicePath::automatic;

  bool has_device() const { return device != DeviceIdentity{}; }
};

struct NcclVerdict {
  std::string against{};             ///< The reason why NCCL cannot be used; empty if it can.
  std::optional<Rank> lacks_nccl{};  ///< The rank that knows more about it.
};

/// Judges the offers of all ranks, by rank; none of them wishes to be staged. Two ranks with one
/// device are left for NCCL to refuse if they insist on it.
NcclVerdict nccl_verdict(std::span<const NcclOffer> offers);

/// The choice.
struct ChosenPath {
  std::unique_ptr<DeviceCollectives> nccl{};  ///< Null if staged.
  std::string why_staged{};                   ///< One sentence; empty with NCCL.
};

/// Chooses, by a collective call. `devices` have this rank's data, and NCCL takes one for each
/// rank; if no rank has a device, nothing is chosen. Throws ErrorKind::usage on all ranks, naming
/// one, if their wishes differ, or if they insist on NCCL and it cannot be used.
ChosenPath choose_path(Communicator& ranks, std::span<const std::shared_ptr<Device>> devices,
                       const DeviceSettings& settings);
inline ChosenPath choose_path(Communicator& ranks, const std::shared_ptr<Device>& device,
                              const DeviceSettings& settings) {
  return choose_path(ranks, std::span(&device, device ? 1 : 0), settings);
}

}  // namespace fastgpu::comm::gpu
