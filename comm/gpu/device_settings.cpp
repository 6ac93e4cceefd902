#include "comm/gpu/device_settings.hpp"

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::comm::gpu {

std::string name_of(DevicePath path) {
  switch (path) {
    case DevicePath::automatic:
      return "auto";
    case DevicePath::nccl:
      return "nccl";
    case DevicePath::staged:
      return "staged";
  }
  return "unknown";
}

DeviceSettings device_settings(const Environment& environment) {
  DeviceSettings settings{.nccl = environment("FASTGPU_COMM_NCCL").value_or("")};
  const std::string text = environment("FASTGPU_COMM_DEVICE").value_or("auto");
  for (const DevicePath path : {DevicePath::automatic, DevicePath::nccl, DevicePath::staged}) {
    settings.path = path;
    if (text == name_of(path)) return settings;
  }
  throw Error(ErrorKind::usage,
              "FASTGPU_COMM_DEVICE is '" + printable(text) + "', not one of auto, nccl, staged");
}

}  // namespace fastgpu::comm::gpu
