#include "base/rdma_devices.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/files.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "base/pci_place.hpp"

namespace fastgpu {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxNames = 256;

/// Buffers for messages are locked; less memory than this is useless.
constexpr Bytes kMinLockable{64'000'000};

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

/// Returns the indexes of a port's addresses that are set, in order, `most` at most. The table has
/// no gaps, but with some drivers over a thousand entries.
std::vector<int> set_gids(const fs::path& port, std::size_t most) {
  constexpr int kMaxTable = 4'096;
  std::vector<int> indexes;
  for (int index = 0; index < kMaxTable && indexes.size() < most; ++index) {
    const std::string gid = first_line_of(port / "gids" / std::to_string(index));
    if (gid.empty()) break;
    if (is_set(gid)) indexes.push_back(index);
  }
  return indexes;
}

/// Returns the text behind `name` on its line of a file; empty without such a line.
std::string text_behind(const fs::path& file, std::string_view name) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(name)) return line.substr(name.size());
  return {};
}

/// Returns whether the kernel ignores the limit of locked memory for this process (CAP_IPC_LOCK).
bool may_lock_all(const fs::path& process) {
  constexpr int kIpcLock = 14;
  const std::string text = text_behind(process / "status", "CapEff:\t");
  std::uint64_t rights = 0;
  std::from_chars(text.data(), text.data() + text.size(), rights, 16);
  return (rights >> kIpcLock & 1) != 0;
}

/// Returns the memory that a process may lock; absent if that is all, or unknown.
std::optional<Bytes> lockable_by(const fs::path& process) {
  if (may_lock_all(process)) return std::nullopt;
  std::istringstream limits(text_behind(process / "limits", "Max locked memory"));
  std::uint64_t bytes = 0;
  if (limits >> bytes) return Bytes{bytes};
  return std::nullopt;
}

/// Returns the number in a file; absent if the kernel knows none, which it writes as -1.
std::optional<int> node_in(const fs::path& file) {
  const std::string text = first_line_of(file);
  int node = -1;
  std::from_chars(text.data(), text.data() + text.size(), node);
  return node >= 0 ? std::optional(node) : std::nullopt;
}

/// Returns the numbers of the kernel's "0-3,8".
std::set<int> numbers_in(const std::string& list) {
  constexpr int kMaxNumber = 1 << 16;
  std::set<int> numbers;
  std::istringstream ranges(list);
  for (std::string range; std::getline(ranges, range, ',');) {
    int first = -1;
    const char* const end = range.data() + range.size();
    const auto read = std::from_chars(range.data(), end, first);
    int last = first;
    if (read.ptr != end && *read.ptr == '-') std::from_chars(read.ptr + 1, end, last);
    for (int number = first; 0 <= number && number <= std::min(last, kMaxNumber); ++number)
      numbers.insert(number);
  }
  return numbers;
}

/// Returns a driver's name. The devices in software have none by their folders: that of rdma_rxe
/// has the name of its interface, and siw describes itself.
std::string driver_in(const fs::path& device) {
  constexpr std::string_view kSiw = "Software iWARP";
  std::error_code error;
  if (fs::exists(device / "parent", error)) return "rdma_rxe";
  if (first_line_of(device / "node_desc").starts_with(kSiw)) return "siw";
  const fs::path driver = fs::read_symlink(device / "device/driver", error);
  return error ? std::string() : printable(driver.filename().string());
}

/// Returns the rate within the kernel's "100 Gb/sec (4X EDR)".
std::int64_t mbit_in(const std::string& line) {
  constexpr double kMost = 1e6;
  const auto gbit = leading_number<double>(line);
  return gbit && *gbit > 0 && *gbit < kMost ? std::llround(*gbit * 1e3) : 0;
}

/// Returns the network interface of the port's first address, or else the device's only one.
std::string interface_of(const fs::path& device, const fs::path& port) {
  std::string name = first_line_of(port / "gid_attrs/ndevs/0");
  if (const auto all = names_in(device / "device/net"); name.empty() && all.size() == 1)
    name = all.front();
  return printable(name);
}

RdmaPort port_in(const fs::path& device, const std::string& number) {
  const fs::path port = device / "ports" / number;
  return {.device = printable(device.filename().string()),
          .number = printable(number),
          .state = state_in(first_line_of(port / "state")),
          .has_address = !set_gids(port, 1).empty(),
          .numa_node = node_in(device / "device/numa_node"),
          .driver = driver_in(device),
          .link_layer = printable(first_line_of(port / "link_layer")),
          .mbit = mbit_in(first_line_of(port / "rate")),
          .interface = interface_of(device, port),
          .pci_place = pci_place(device / "device")};
}

std::string port_name(const RdmaPort& port) {
  return "port " + port.number + " of " + port.device;
}

}  // namespace

RdmaDevices rdma_devices(const fs::path& root) {
  RdmaDevices found;
  const fs::path devices = root / "sys/class/infiniband";
  for (const std::string& device : names_in(devices))
    for (const std::string& number : names_in(devices / device / "ports"))
      found.ports.push_back(port_in(devices / device, number));
  const fs::path files = root / "dev/infiniband";
  for (const std::string& name : names_in(files)) {
    if (!name.starts_with("uverbs")) continue;
    found.has_files = true;
    if (::access((files / name).c_str(), R_OK | W_OK) != 0)
      found.closed.push_back(printable((fs::path("/dev/infiniband") / name).string()));
  }
  found.lockable = lockable_by(root / "proc/self");
  return found;
}

std::vector<RdmaGid> gids_of(const RdmaPort& port, const fs::path& root) {
  const fs::path folder = root / "sys/class/infiniband" / port.device / "ports" / port.number;
  std::vector<RdmaGid> gids;
  for (const int index : set_gids(folder, kMaxGids)) {
    const std::string name = std::to_string(index);
    gids.push_back({.index = index,
                    .gid = printable(first_line_of(folder / "gids" / name)),
                    .type = printable(first_line_of(folder / "gid_attrs/types" / name)),
                    .interface = printable(first_line_of(folder / "gid_attrs/ndevs" / name))});
  }
  return gids;
}

std::string plain_driver_name(std::string_view driver) {
  constexpr std::string_view kCore = "_core";
  constexpr std::string_view kRdma = "rdma_";
  if (driver.ends_with(kCore)) driver.remove_suffix(kCore.size());
  if (driver.starts_with(kRdma)) driver.remove_prefix(kRdma.size());
  return std::string(driver);
}

std::optional<int> own_numa_node(const fs::path& root) {
  const std::set<int> allowed =
      numbers_in(text_behind(root / "proc/self/status", "Cpus_allowed_list:\t"));
  if (allowed.empty()) return std::nullopt;
  const fs::path nodes = root / "sys/devices/system/node";
  constexpr std::string_view kNode = "node";
  for (const std::string& name : names_in(nodes)) {
    int node = -1;
    if (!name.starts_with(kNode)) continue;
    std::from_chars(name.data() + kNode.size(), name.data() + name.size(), node);
    if (node >= 0 &&
        std::ranges::includes(numbers_in(first_line_of(nodes / name / "cpulist")), allowed))
      return node;
  }
  return std::nullopt;
}

std::string nearest_device(const RdmaDevices& devices, const RdmaNeighbour& neighbour, int turn) {
  using Nearness = std::pair<std::size_t, bool>;
  std::vector<std::pair<Nearness, std::string>> active;
  for (const RdmaPort& port : devices.ports) {
    const bool is_known = !active.empty() && active.back().second == port.device;
    if (port.state != "ACTIVE" || is_known) continue;
    const bool is_same_node = neighbour.numa_node && port.numa_node == neighbour.numa_node;
    active.push_back(
        {{common_bridges(port.pci_place, neighbour.pci_place), is_same_node}, port.device});
  }
  if (active.size() < 2) return {};
  const Nearness nearest = std::ranges::max_element(active)->first;
  std::erase_if(active, [&](const auto& device) { return device.first < nearest; });
  return active[static_cast<std::size_t>(turn) % active.size()].second;
}

std::string obstacle_of(const RdmaDevices& devices) {
  if (!devices.has_files)
    return "/dev/infiniband has no uverbs device: load the kernel's module ib_uverbs, or give the "
           "container the devices (--device /dev/infiniband)";
  if (!devices.closed.empty())
    return devices.closed.front() +
           " may not be opened: give the user the permission (often the group rdma)";
  const auto active = [](const RdmaPort& port) { return port.state == "ACTIVE"; };
  if (std::ranges::none_of(devices.ports, active)) {
    const RdmaPort& first = devices.ports.front();
    return port_name(first) + " is " + (first.state.empty() ? "in no known state" : first.state) +
           ": check its cable and its subnet manager or interface (rdma link)";
  }
  const auto usable = [&](const RdmaPort& port) { return active(port) && port.has_address; };
  if (std::ranges::none_of(devices.ports, usable))
    return port_name(*std::ranges::find_if(devices.ports, active)) +
           " has no address (GID): give its network interface an IP address";
  if (devices.lockable && *devices.lockable < kMinLockable)
    return remedy_for_lockable(*devices.lockable);
  return {};
}

std::string remedy_for_lockable(Bytes lockable) {
  return "a process may lock " + to_string(lockable) +
         " of memory here: raise the limit (ulimit -l unlimited; memlock in "
         "/etc/security/limits.conf; LimitMEMLOCK=infinity for a service)";
}

}  // namespace fastgpu
