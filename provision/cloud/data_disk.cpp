#include "provision/cloud/data_disk.hpp"

#include "base/contains.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "provision/providers.hpp"

namespace fastgpu::provision::cloud {
namespace {

constexpr const char* kScript =
#include "templates/nodes/data_disk.inc"
    ;

}  // namespace

std::string unknown_disk_type(const DataDisk& disk, std::string_view cloud) {
  const auto types = provider_info(cloud).disk_types;
  if (disk.gib == 0 || disk.type.empty() || types.empty() || contains(types, disk.type)) return {};
  return "--data-disk: " + std::string(cloud) + " may refuse disks of type '" +
         printable(disk.type) + "'; it is known to have " + joined(types);
}

std::vector<std::string> data_disk_command(int gib) {
  return {"sh", "-c", kScript, "sh", std::to_string(gib), std::string(kDataPath)};
}

}  // namespace fastgpu::provision::cloud
