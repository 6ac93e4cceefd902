#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "agent/protocol/plan.hpp"
#include "agent/protocol/topology.hpp"
#include "agent/read_topology.hpp"
#include "support/agent_process.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;
using test::read_text;
using test::run_agent;
using test::ScratchHome;
using test::write_file;

void put_cpu(const fs::path& sys, int cpu, int socket, int die, int core) {
  const fs::path place = sys / "devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "topology";
  write_file(place / "physical_package_id", std::to_string(socket) + "\n");
  write_file(place / "die_id", std::to_string(die) + "\n");
  write_file(place / "core_id", std::to_string(core) + "\n");
}

void put_device(const fs::path& sys, const std::string& slot, const std::string& vendor,
                const std::string& kind, int numa) {
  write_file(sys / "bus/pci/devices" / slot / "vendor", vendor + "\n");
  write_file(sys / "bus/pci/devices" / slot / "class", kind + "\n");
  write_file(sys / "bus/pci/devices" / slot / "numa_node", std::to_string(numa) + "\n");
}

/// Runs one rank whose plan has these CPUs. Returns its output and its errors.
std::pair<std::string, std::string> run_bound(const std::string& cpus) {
  const ScratchHome home;
  JobPlan plan;
  plan.id = "bound-1";
  plan.argv = {"sh", "-c", "grep Cpus_allowed_list /proc/self/status; echo has $FASTGPU_CPUS"};
  plan.ranks = {3};
  plan.world_size = 4;
  if (!cpus.empty()) plan.cpus = {cpus};
  write_file(home.path() / "job/rank", to_text(plan));
  write_file(home.path() / "job/variables", variables_text({}));
  CHECK(run_agent(home, {"rank", "job", "--place", "3:0:4"}).status.ok());
  return {read_text(home.path() / "job/ranks/3.out"), read_text(home.path() / "job/ranks/3.err")};
}

/// Runs rank 3 of a job whose plan gives ranks 3 and up these GPUs, with `before` in its
/// environment. Returns the GPUs that it sees.
std::string gpus_seen(std::vector<int> gpus, const std::vector<std::string>& before = {}) {
  const ScratchHome home;
  JobPlan plan;
  plan.id = "gpus-1";
  plan.argv = {"sh", "-c", "echo ${CUDA_VISIBLE_DEVICES-all}"};
  for (std::size_t i = 0; i < gpus.size(); ++i)
    plan.ranks.push_back(3 + static_cast<int>(i));
  plan.world_size = 3 + static_cast<int>(gpus.size());
  plan.gpus = std::move(gpus);
  write_file(home.path() / "job/rank", to_text(plan));
  write_file(home.path() / "job/variables", variables_text(before));
  CHECK(run_agent(home, {"rank", "job", "--place", "3:0:" + std::to_string(plan.world_size)})
            .status.ok());
  return read_text(home.path() / "job/ranks/3.out");
}

TEST_SUITE_BEGIN("agent/topology");

TEST_CASE("sockets, dies, cores, threads, NUMA nodes and devices are read") {
  const ScratchHome root;
  const fs::path& sys = root.path();
  // Cores are numbered within a die: threads 0 and 4 are one core, 1 is another one.
  put_cpu(sys, 0, 0, 0, 0);
  put_cpu(sys, 1, 0, 1, 0);
  put_cpu(sys, 2, 1, 0, 0);
  put_cpu(sys, 4, 0, 0, 0);
  write_file(sys / "devices/system/node/node0/cpulist", "0-1,4\n");
  write_file(sys / "devices/system/node/node1/cpulist", "2\n");
  write_file(sys / "devices/system/node/possible", "0-1\n");
  put_device(sys, "0000:5e:00.0", "0x10de", "0x030200", 1);
  put_device(sys, "0000:3b:00.0", "0x10de", "0x030000", 0);
  put_device(sys, "0000:00:02.0", "0x8086", "0x030000", 0);
  put_device(sys, "0000:c1:00.0", "0x10de", "0x068000", 0);
  write_file(sys / "class/net/lo/mtu", "65536\n");
  write_file(sys / "class/net/eth0/device/numa_node", "1\n");
  MachineTopology read = read_topology(sys, {0, 1, 2, 4});
  CHECK(read.cpus == std::vector<Cpu>{{.number = 0, .core = 0, .socket = 0, .numa = 0},
                                      {.number = 1, .core = 1, .socket = 0, .numa = 0},
                                      {.number = 2, .core = 2, .socket = 1, .numa = 1},
                                      {.number = 4, .core = 0, .socket = 0, .numa = 0}});
  CHECK(read.gpus == std::vector<NearDevice>{{"0000:3b:00.0", 0}, {"0000:5e:00.0", 1}});
  CHECK(read.adapters == std::vector<NearDevice>{{"eth0", 1}});
  write_file(sys / "class/infiniband/mlx5_0/device/numa_node", "-1\n");
  CHECK(read_topology(sys, {0}).adapters == std::vector<NearDevice>{{"mlx5_0", -1}});
}

/// A machine whose kernel's files were recorded, and what hwloc reads in them.
struct RecordedMachine {
  std::string name{};
  std::vector<Cpu> by_hwloc{};
};

/// Writes the kernel's files of the next machine below `sys`; without one the name is empty.
RecordedMachine write_recorded(std::istream& file, const fs::path& sys) {
  RecordedMachine machine;
  std::map<std::string, std::string> cpus_of_node;
  std::string line;
  while (machine.name.empty() && std::getline(file, line))
    if (line.starts_with("machine ")) machine.name = line.substr(8);
  while (file.peek() != 'm' && std::getline(file, line)) {
    std::istringstream words(line);
    if (line.starts_with("nodes ")) {
      words.ignore(6);
      for (std::string node; words >> node;)
        cpus_of_node[node];
      continue;
    }
    std::string cpu, package, die, core, node, bar;
    Cpu read;
    words >> cpu >> package >> die >> core >> node >> bar >> read.socket >> read.core >> read.numa;
    REQUIRE(words);
    read.number = std::stoi(cpu);
    machine.by_hwloc.push_back(read);
    const fs::path place = sys / "devices/system/cpu" / ("cpu" + cpu) / "topology";
    write_file(place / "physical_package_id", package + "\n");
    if (die != "-") write_file(place / "die_id", die + "\n");
    write_file(place / "core_id", core + "\n");
    cpus_of_node[node] += (cpus_of_node[node].empty() ? "" : ",") + cpu;
  }
  for (const auto& [node, cpus] : cpus_of_node)
    write_file(sys / "devices/system/node" / ("node" + node) / "cpulist", cpus + "\n");
  return machine;
}

TEST_CASE("recorded machines have the sockets, cores and NUMA nodes that hwloc reads in them") {
  std::ifstream file(FASTGPU_TEST_RECORDED_MACHINES);
  for (int machines = 0; machines < 2; ++machines) {
    const ScratchHome root;
    const RecordedMachine machine = write_recorded(file, root.path());
    INFO("machine: ", machine.name);
    REQUIRE_FALSE(machine.by_hwloc.empty());
    std::vector<int> numbers;
    for (const Cpu& cpu : machine.by_hwloc)
      numbers.push_back(cpu.number);
    CHECK(read_topology(root.path(), numbers).cpus == machine.by_hwloc);
  }
}

TEST_CASE("without a topology of the kernel each CPU is a core of one socket") {
  const ScratchHome root;
  CHECK(read_topology(root.path() / "none", {3, 5}).cpus ==
        std::vector<Cpu>{{.number = 3, .core = 0, .socket = 0, .numa = 0},
                         {.number = 5, .core = 1, .socket = 0, .numa = 0}});
}

TEST_CASE("the agent reports the topology of this machine") {
  const ScratchHome home;
  const auto done = run_agent(home, {"topology"});
  REQUIRE(done.status.ok());
  const MachineTopology topology = parse_topology(done.out);
  std::vector<int> cpus;
  for (const Cpu& cpu : topology.cpus)
    cpus.push_back(cpu.number);
  CHECK(cpus == allowed_cpus());
  CHECK_FALSE(topology.boot_id.empty());
}

TEST_CASE("a rank runs on its CPUs and knows them") {
  const int first = allowed_cpus().front();
  const auto [out, err] = run_bound(std::to_string(first));
  CHECK(out.find(":\t" + std::to_string(first) + "\nhas " + std::to_string(first) + "\n") !=
        std::string::npos);
  CHECK(err == "");
}

TEST_CASE("a rank whose CPUs are not there runs on others and says so") {
  const std::string all = cpu_list(allowed_cpus());
  const auto [out, err] = run_bound("60000-60001");
  CHECK(out.find("has " + all) != std::string::npos);
  CHECK(err.find("rank 3 uses CPUs " + all + ", because it cannot be bound to 60000-60001") !=
        std::string::npos);
  const int first = allowed_cpus().front();
  const auto [less, remark] = run_bound(std::to_string(first) + ",60000");
  CHECK(remark.find("uses CPUs " + std::to_string(first) + " and not ") != std::string::npos);
}

TEST_CASE(
    "ranks see their GPUs in their own order, so that rank N of a node uses the GPU beside it") {
  CHECK(gpus_seen({0, 3, 2, 1}) == "0,3,2,1\n");
  CHECK(gpus_seen({4, 7}) == "4,7\n");
  CHECK(gpus_seen({2, 1, 2}) == "2,1\n");
}

TEST_CASE("ranks see the GPUs that their job holds on the node, and no others") {
  CHECK(gpus_seen({0, 1, 2}) == "0,1,2\n");
  CHECK(gpus_seen({0, 1, 0, 1}) == "0,1\n");
  CHECK(gpus_seen({0}) == "0\n");
}

TEST_CASE("a list of GPUs that the job has is kept") {
  CHECK(gpus_seen({0, 3, 2, 1}, {"CUDA_VISIBLE_DEVICES=5,6"}) == "5,6\n");
}

TEST_CASE("a rank without CPUs in its plan is not bound") {
  const auto [out, err] = run_bound("");
  CHECK(out.find(":\t" + cpu_list(allowed_cpus()) + "\nhas\n") != std::string::npos);
  CHECK(err == "");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
