// Whether data in device memory travels by NCCL or by way of the host: all ranks find the same.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "comm/gpu/device_collectives.hpp"
#include "comm/gpu/settings.hpp"

namespace fastgpu::comm::gpu {

/// What one rank has.
struct NcclOffer {
  std::int32_t version = 0;  ///< Of NCCL, such as 22809; 0 where it cannot be loaded.
  DeviceIdentity device{};   ///< All 0: none.
  DeviceWay wish = DeviceWay::automatic;

  bool has_device() const { return device != DeviceIdentity{}; }
};

struct NcclVerdict {
  std::string against{};             ///< Why NCCL cannot be used; empty: it can.
  std::optional<Rank> lacks_nccl{};  ///< Who knows more about it.
};

/// From the offers of all ranks, by rank; none of them wishes to be staged. Two ranks with one
/// device are NCCL's to refuse where they insist on it.
NcclVerdict nccl_verdict(std::span<const NcclOffer> offers);

/// What was chosen.
struct DevicePath {
  std::unique_ptr<DeviceCollectives> nccl{};  ///< Null: staged.
  std::string why_staged{};                   ///< One sentence; empty with NCCL.
};

/// A collective call. `device` is null on a rank that has none; where none has, nothing is chosen.
/// Throws ErrorKind::usage on all ranks, naming one, where their wishes differ, or where they
/// insist on NCCL and it cannot be used.
DevicePath choose_path(Communicator& ranks, const std::shared_ptr<Device>& device,
                       const DeviceSettings& settings);

}  // namespace fastgpu::comm::gpu
