#include "agent/read_topology.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <tuple>

#include "agent/files/disk.hpp"
#include "agent/gpu_links.hpp"
#include "agent/options.hpp"
#include "agent/subcommands.hpp"
#include "base/error.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

std::string line_in(const fs::path& file) try {
  const std::string text = read_file(file).value_or("");
  return text.substr(0, text.find('\n'));
} catch (const Error&) {
  return "";
}

int number_in(const fs::path& file, int otherwise) {
  const std::string text = line_in(file);
  int value = otherwise;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : otherwise;
}

/// Returns the names in a directory, sorted.
std::vector<std::string> entries_of(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code failure;
  for (fs::directory_iterator entry(directory, failure), end; !failure && entry != end;
       entry.increment(failure))
    names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// Returns the NUMA node of each CPU.
std::map<int, int> numa_of_cpus(const fs::path& sys) {
  std::map<int, int> numa;
  const fs::path nodes = sys / "devices/system/node";
  for (const std::string& name : entries_of(nodes)) {
    if (!name.starts_with("node")) continue;
    int node = -1;
    const auto [end, error] = std::from_chars(name.data() + 4, name.data() + name.size(), node);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    try {
      for (const int cpu : parse_cpu_list(line_in(nodes / name / "cpulist")))
        numa[cpu] = node;
    } catch (const Error&) {
      continue;
    }
  }
  return numa;
}

bool is_gpu(const fs::path& device) {
  const std::string kind = line_in(device / "class");
  return line_in(device / "vendor") == "0x10de" &&
         (kind.starts_with("0x0300") || kind.starts_with("0x0302"));
}

/// Returns the RDMA adapters, and without one the network interfaces that are devices.
std::vector<NearDevice> adapters_in(const fs::path& sys) {
  std::vector<NearDevice> adapters;
  for (const char* kind : {"class/infiniband", "class/net"}) {
    if (!adapters.empty()) break;
    for (const std::string& name : entries_of(sys / kind)) {
      std::error_code ignored;
      const fs::path device = sys / kind / name / "device";
      if (fs::exists(device, ignored))
        adapters.push_back({.name = name, .numa = number_in(device / "numa_node", -1)});
    }
  }
  return adapters;
}

/// The kernel may have more CPUs than a cpu_set_t.
constexpr int kMostCpus = 65'536;

using CpuSet = std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)>;

CpuSet empty_cpu_set() {
  CpuSet set(CPU_ALLOC(kMostCpus), [](cpu_set_t* owned) { CPU_FREE(owned); });
  if (!set) throw std::bad_alloc();
  CPU_ZERO_S(CPU_ALLOC_SIZE(kMostCpus), set.get());
  return set;
}

}  // namespace

std::vector<int> allowed_cpus() {
  const CpuSet set = empty_cpu_set();
  const std::size_t size = CPU_ALLOC_SIZE(kMostCpus);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, size, set.get()) != 0) return cpus;
  for (int cpu = 0; cpu < kMostCpus; ++cpu)
    if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size, set.get())) cpus.push_back(cpu);
  return cpus;
}

int allow_cpus(const std::vector<int>& cpus) {
  const CpuSet set = empty_cpu_set();
  const std::size_t size = CPU_ALLOC_SIZE(kMostCpus);
  for (const int cpu : cpus)
    if (cpu >= 0 && cpu < kMostCpus) CPU_SET_S(static_cast<std::size_t>(cpu), size, set.get());
  return ::sched_setaffinity(0, size, set.get()) == 0 ? 0 : errno;
}

MachineTopology read_topology(const fs::path& sys, const std::vector<int>& allowed) {
  MachineTopology topology;
  const auto numa = numa_of_cpus(sys);
  // The kernel numbers cores within a die of a package.
  std::map<std::tuple<int, int, int>, int> cores;
  for (const int cpu : allowed) {
    const fs::path place = sys / "devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "topology";
    const int socket = std::max(0, number_in(place / "physical_package_id", 0));
    const std::tuple key(socket, number_in(place / "die_id", 0), number_in(place / "core_id", cpu));
    const auto core = cores.emplace(key, static_cast<int>(cores.size())).first->second;
    const auto found = numa.find(cpu);
    topology.cpus.push_back({.number = cpu,
                             .core = core,
                             .socket = socket,
                             .numa = found == numa.end() ? 0 : found->second});
  }
  const fs::path devices = sys / "bus/pci/devices";
  for (const std::string& name : entries_of(devices))
    if (is_gpu(devices / name))
      topology.gpus.push_back({.name = name, .numa = number_in(devices / name / "numa_node", -1)});
  topology.adapters = adapters_in(sys);
  return topology;
}

int run_topology(Arguments arguments) {
  OptionReader options(arguments);
  options.expect_end();
  MachineTopology topology = read_topology("/sys", allowed_cpus());
  try {
    if (topology.gpus.size() > 1) topology.gpu_links = read_gpu_links(topology.gpus);
  } catch (const Error&) {
    topology.is_gpu_tool_silent = true;
  }
  topology.boot_id = line_in("/proc/sys/kernel/random/boot_id");
  write_all(STDOUT_FILENO, to_text(topology));
  return 0;
}

}  // namespace fastgpu::agent
