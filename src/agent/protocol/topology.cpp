#include "agent/protocol/topology.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "agent/protocol/records.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::agent {
namespace {

/// Linux has no more CPUs.
constexpr int kMostCpus = 65'536;

int small_number(const Records& records, std::string_view key) {
  const std::int64_t value = records.number(key);
  if (value < -1 || value > INT32_MAX)
    throw Error(ErrorKind::remote, "topology: " + std::string(key) + " is out of range");
  return static_cast<int>(value);
}

int cpu_number(std::string_view text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0 || value >= kMostCpus)
    throw Error(ErrorKind::remote, "'" + printable(text) + "' is not a number of a CPU");
  return value;
}

void add_devices(Records& records, const char* key, const std::vector<NearDevice>& devices) {
  for (const NearDevice& device : devices) {
    Records entry;
    entry.add("name", device.name);
    entry.add("numa", device.numa);
    records.add(key, entry);
  }
}

std::vector<NearDevice> devices_in(const Records& records, const char* key) {
  std::vector<NearDevice> devices;
  for (const Records& entry : records.nested(key, "a device"))
    devices.push_back({.name = entry.get("name"), .numa = small_number(entry, "numa")});
  return devices;
}

/// Returns the links, sorted. Throws for one that no two GPUs can have, and for a pair that is
/// there twice.
std::vector<GpuLink> links_in(const Records& records, std::size_t gpus) {
  std::vector<GpuLink> links;
  for (const Records& entry : records.nested("gpu_link", "a link")) {
    const GpuLink link{.first = small_number(entry, "first"),
                       .second = small_number(entry, "second"),
                       .count = small_number(entry, "count")};
    if (link.first < 0 || link.second <= link.first || std::cmp_greater_equal(link.second, gpus) ||
        link.count < 1 || link.count > kMostGpuLinks)
      throw Error(ErrorKind::remote, "topology: a link between GPUs is impossible");
    links.push_back(link);
  }
  const auto pair_of = [](const GpuLink& link) { return std::pair(link.first, link.second); };
  std::ranges::sort(links, {}, pair_of);
  if (std::ranges::adjacent_find(links, {}, pair_of) != links.end())
    throw Error(ErrorKind::remote, "topology: a link between GPUs is there twice");
  return links;
}

}  // namespace

std::string to_text(const MachineTopology& topology) {
  Records records;
  records.add("boot_id", topology.boot_id);
  for (const Cpu& cpu : topology.cpus) {
    Records entry;
    entry.add("number", cpu.number);
    entry.add("core", cpu.core);
    entry.add("socket", cpu.socket);
    entry.add("numa", cpu.numa);
    records.add("cpu", entry);
  }
  add_devices(records, "gpu", topology.gpus);
  add_devices(records, "adapter", topology.adapters);
  for (const GpuLink& link : topology.gpu_links) {
    Records entry;
    entry.add("first", link.first);
    entry.add("second", link.second);
    entry.add("count", link.count);
    records.add("gpu_link", entry);
  }
  if (topology.is_gpu_tool_silent) records.add("gpu_tool_silent", 1);
  return records.text();
}

MachineTopology parse_topology(std::string_view text) {
  const Records records(text, "topology");
  MachineTopology topology{.boot_id = records.get("boot_id"),
                           .cpus = {},
                           .gpus = devices_in(records, "gpu"),
                           .adapters = devices_in(records, "adapter")};
  for (const Records& entry : records.nested("cpu", "a CPU"))
    topology.cpus.push_back({.number = small_number(entry, "number"),
                             .core = small_number(entry, "core"),
                             .socket = small_number(entry, "socket"),
                             .numa = small_number(entry, "numa")});
  topology.gpu_links = links_in(records, topology.gpus.size());
  topology.is_gpu_tool_silent = !records.all("gpu_tool_silent").empty();
  if (topology.cpus.empty()) throw Error(ErrorKind::remote, "topology: there is no CPU");
  return topology;
}

std::string cpu_list(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1)
      ++last;
    text += (text.empty() ? "" : ",") + std::to_string(cpus[i]);
    if (last > i) text += "-" + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
}

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, end);
    const std::size_t dash = std::min(item.find('-'), item.size());
    const int first = cpu_number(item.substr(0, dash));
    const int last = dash < item.size() ? cpu_number(item.substr(dash + 1)) : first;
    if (last < first)
      throw Error(ErrorKind::remote, "'" + printable(item) + "' is no range of CPUs");
    if (cpus.size() + static_cast<std::size_t>(last - first) >= kMostCpus)
      throw Error(ErrorKind::remote, "a list of CPUs has more than " + std::to_string(kMostCpus));
    for (int cpu = first; cpu <= last; ++cpu)
      cpus.push_back(cpu);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

}  // namespace fastgpu::agent
