#include "provision/cloud/data_disk.hpp"

#include "provision/storage.hpp"

namespace fastgpu::provision::cloud {
namespace {

constexpr const char* kScript =
#include "templates/nodes/data_disk.inc"
    ;

}  // namespace

std::vector<std::string> data_disk_command(int gib) {
  return {"sh", "-c", kScript, "sh", std::to_string(gib), std::string(kDataPath)};
}

}  // namespace fastgpu::provision::cloud
