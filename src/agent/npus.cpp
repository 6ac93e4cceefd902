#include "agent/npus.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "agent/files/disk.hpp"
#include "base/numbers.hpp"
#include "base/split.hpp"

namespace fastgpu::agent {
namespace {

/// Returns the addresses of lines such as "address_0=192.168.100.101", by the number of the device.
std::map<int, std::string> addresses_in(std::string_view text) {
  constexpr std::string_view kKey = "address_";
  constexpr std::size_t kLongest = 64;
  std::map<int, std::string> addresses;
  for (const std::string_view whole : split_lines(text)) {
    const std::string_view line = trimmed(whole);
    const auto equals = line.find('=');
    if (!line.starts_with(kKey) || equals == line.npos) continue;
    const auto device = to_number<int>(trimmed(line.substr(kKey.size(), equals - kKey.size())));
    const std::string_view address = trimmed(line.substr(equals + 1));
    if (device && address.size() <= kLongest) addresses[*device] = std::string(address);
  }
  return addresses;
}

}  // namespace

std::vector<NpuDevice> npu_devices(const std::filesystem::path& root) {
  constexpr std::string_view kPrefix = "davinci";
  std::vector<NpuDevice> devices;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(root / "dev", none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const auto number = to_number<int>(std::string_view(name).substr(kPrefix.size()));
    if (number && *number >= 0) devices.push_back({.device = *number});
  }
  if (devices.empty()) return devices;
  std::ranges::sort(devices, {}, &NpuDevice::device);
  const auto addresses = addresses_in(read_file(root / "etc/hccn.conf").value_or(""));
  for (NpuDevice& device : devices)
    if (const auto found = addresses.find(device.device); found != addresses.end())
      device.address = found->second;
  return devices;
}

}  // namespace fastgpu::agent
