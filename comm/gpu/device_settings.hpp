// The path of data in device memory, and the environment variables for it.
#pragma once

#include <cstdint>
#include <string>

#include "comm/common/process_environment.hpp"

namespace fastgpu::comm::gpu {

enum class DevicePath : std::uint8_t {
  automatic,  ///< NCCL if every rank has it and a GPU of its own, else staged.
  nccl,       ///< NCCL, or an error.
  staged      ///< Through the host.
};

struct DeviceSettings {
  DevicePath path = DevicePath::automatic;  ///< FASTGPU_COMM_DEVICE: auto, nccl or staged.
  std::string nccl{};  ///< FASTGPU_COMM_NCCL: the file of NCCL's library; empty: the usual one.

  friend bool operator==(const DeviceSettings&, const DeviceSettings&) = default;
};

std::string name_of(DevicePath path);

/// Reads the variables. Throws ErrorKind::usage, naming the variable, for an invalid value.
DeviceSettings device_settings(const Environment& environment);

}  // namespace fastgpu::comm::gpu
