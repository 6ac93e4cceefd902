#include "comm/fabric/rdma_devices.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <system_error>

#include "base/files.hpp"
#include "base/names.hpp"

namespace fastgpu::comm::fabric {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxNames = 256;

/// Returns the names in a folder, in order; none if it cannot be read.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error);
       !error && entry != fs::directory_iterator() && names.size() < kMaxNames;
       entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// Returns the state within the kernel's "4: ACTIVE".
std::string state_in(const std::string& line) {
  const auto colon = line.find(": ");
  return printable(colon == std::string::npos ? line : line.substr(colon + 2));
}

/// Returns whether a GID, "fe80:0000:...", is set.
bool is_set(std::string_view gid) {
  return gid.find_first_not_of("0:") != std::string_view::npos;
}

bool has_address(const fs::path& port) {
  return std::ranges::any_of(names_in(port / "gids"), [&](const std::string& index) {
    return is_set(first_line_of(port / "gids" / index));
  });
}

std::string name_of(const RdmaPort& port) {
  return "port " + port.number + " of " + port.device;
}

}  // namespace

RdmaDevices rdma_devices(const fs::path& root) {
  RdmaDevices found;
  const fs::path devices = root / "sys/class/infiniband";
  for (const std::string& device : names_in(devices))
    for (const std::string& number : names_in(devices / device / "ports")) {
      const fs::path port = devices / device / "ports" / number;
      found.ports.push_back({.device = printable(device),
                             .number = printable(number),
                             .state = state_in(first_line_of(port / "state")),
                             .has_address = has_address(port)});
    }
  const fs::path files = root / "dev/infiniband";
  for (const std::string& name : names_in(files)) {
    if (!name.starts_with("uverbs")) continue;
    found.has_files = true;
    if (::access((files / name).c_str(), R_OK | W_OK) != 0)
      found.closed.push_back(printable((fs::path("/dev/infiniband") / name).string()));
  }
  return found;
}

std::string obstacle_of(const RdmaDevices& devices) {
  if (!devices.has_files)
    return "/dev/infiniband has no uverbs device: load the kernel's module ib_uverbs, or give the "
           "container the devices (--device /dev/infiniband)";
  if (!devices.closed.empty())
    return "this process may not open " + devices.closed.front() +
           ": give its user the permission (often the group rdma)";
  const auto active = [](const RdmaPort& port) { return port.state == "ACTIVE"; };
  if (std::ranges::none_of(devices.ports, active)) {
    const RdmaPort& first = devices.ports.front();
    return name_of(first) + " is " + (first.state.empty() ? "in no known state" : first.state) +
           ": check its cable and its subnet manager or interface (rdma link)";
  }
  const auto usable = [&](const RdmaPort& port) { return active(port) && port.has_address; };
  if (std::ranges::none_of(devices.ports, usable))
    return name_of(*std::ranges::find_if(devices.ports, active)) +
           " has no address (GID): give its network interface an IP address";
  return "libfabric offers no provider for it: install the one for the device (Debian, Ubuntu: "
         "ibverbs-providers; EFA: the libfabric of its installer)";
}

}  // namespace fastgpu::comm::fabric
