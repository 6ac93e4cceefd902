#include "comm/gpu/settings.hpp"

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::comm::gpu {

std::string name_of(DeviceWay way) {
  switch (way) {
    case DeviceWay::automatic:
      return "auto";
    case DeviceWay::nccl:
      return "nccl";
    case DeviceWay::staged:
      return "staged";
  }
  return "unknown";
}

DeviceSettings device_settings(const Environment& environment) {
  DeviceSettings settings{.nccl = environment("FASTGPU_COMM_NCCL").value_or("")};
  const std::string text = environment("FASTGPU_COMM_DEVICE").value_or("auto");
  for (const DeviceWay way : {DeviceWay::automatic, DeviceWay::nccl, DeviceWay::staged}) {
    settings.way = way;
    if (text == name_of(way)) return settings;
  }
  throw Error(ErrorKind::usage,
              "FASTGPU_COMM_DEVICE is '" + printable(text) + "', not one of auto, nccl, staged");
}

}  // namespace fastgpu::comm::gpu
