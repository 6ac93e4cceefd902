// Why an RDMA device of this machine cannot be used.
#include "base/rdma_devices.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/temp_directory.hpp"

namespace fastgpu {
namespace {

namespace fs = std::filesystem;

/// The root of a machine with the files by which a kernel shows RDMA devices.
class Machine {
 public:
  void add_port(const std::string& device, const std::string& state, const std::string& gid) {
    const fs::path port = root() / "sys/class/infiniband" / device / "ports/1";
    fs::create_directories(port / "gids");
    std::ofstream(port / "state") << state << '\n';
    std::ofstream(port / "gids/0") << "0000:0000:0000:0000:0000:0000:0000:0000\n";
    std::ofstream(port / "gids/1") << gid << '\n';
  }
  void set_node_of(const std::string& device, const std::string& node) {
    const fs::path folder = root() / "sys/class/infiniband" / device / "device";
    fs::create_directories(folder);
    std::ofstream(folder / "numa_node") << node << '\n';
  }
  /// Adds nodes of processors, and what this process may use of them.
  void set_processors(const std::vector<std::string>& nodes, const std::string& allowed) {
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      const fs::path folder = root() / "sys/devices/system/node" / ("node" + std::to_string(node));
      fs::create_directories(folder);
      std::ofstream(folder / "cpulist") << nodes[node] << '\n';
    }
    fs::create_directories(root() / "proc/self");
    std::ofstream(root() / "proc/self/status") << "Cpus_allowed_list:\t" << allowed << '\n';
  }
  void add_file(const std::string& name) {
    fs::create_directories(root() / "dev/infiniband");
    std::ofstream(root() / "dev/infiniband" / name) << '\n';
  }
  /// Sets the limits of this process. `rights` are its capabilities, in hexadecimal.
  void set_lockable(const std::string& limit, const std::string& rights) {
    fs::create_directories(root() / "proc/self");
    std::ofstream(root() / "proc/self/limits")
        << "Limit                     Soft Limit           Hard Limit           Units\n"
           "Max locked memory         "
        << limit << "             unlimited            bytes\n";
    std::ofstream(root() / "proc/self/status") << "Name:\tsh\nCapEff:\t" << rights << '\n';
  }
  const fs::path& root() const { return folder_.path(); }
  RdmaDevices devices() const { return rdma_devices(root()); }

 private:
  test::TempDirectory folder_;
};

const std::string kGid = "fe80:0000:0000:0000:5054:00ff:fe77:0001";
const std::string kNoGid = "0000:0000:0000:0000:0000:0000:0000:0000";

bool says(const Machine& machine, const std::string& words) {
  const std::string said = obstacle_of(machine.devices());
  INFO(said);
  return said.find(words) != std::string::npos;
}

TEST_SUITE_BEGIN("base/rdma devices");

TEST_CASE("a machine without RDMA has no ports") {
  const Machine machine;
  CHECK(machine.devices().ports.empty());
}

TEST_CASE("ports are listed by device, with their state and whether they have an address") {
  Machine machine;
  machine.add_port("mlx5_1", "1: DOWN", kNoGid);
  machine.add_port("mlx5_0", "4: ACTIVE", kGid);
  const RdmaDevices devices = machine.devices();
  REQUIRE(devices.ports.size() == 2);
  CHECK(devices.ports[0].device == "mlx5_0");
  CHECK(devices.ports[0].number == "1");
  CHECK(devices.ports[0].state == "ACTIVE");
  CHECK(devices.ports[0].has_address);
  CHECK(devices.ports[1].state == "DOWN");
  CHECK_FALSE(devices.ports[1].has_address);
}

TEST_CASE("a process is on the node of its processors, if these are all of one") {
  const auto node_with = [](const std::string& allowed) {
    Machine machine;
    machine.set_processors({"0-3,8-11", "4-7,12-15"}, allowed);
    return own_numa_node(machine.root());
  };
  CHECK(node_with("0-3,8-11") == 0);
  CHECK(node_with("5") == 1);
  CHECK(node_with("6-7,12") == 1);
  CHECK_FALSE(node_with("0-15"));
  CHECK_FALSE(node_with("3-4"));
  CHECK_FALSE(node_with(""));
  CHECK_FALSE(own_numa_node(Machine().root()));
}

TEST_CASE("the nearest device is one of the process's node that is active, by turns") {
  Machine machine;
  for (const char* const device : {"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"})
    machine.add_port(device, "4: ACTIVE", kGid);
  machine.set_node_of("mlx5_0", "0");
  machine.set_node_of("mlx5_1", "0");
  machine.set_node_of("mlx5_2", "1");
  machine.set_node_of("mlx5_3", "-1");
  const RdmaDevices devices = machine.devices();
  CHECK(nearest_device(devices, 0, 0) == "mlx5_0");
  CHECK(nearest_device(devices, 0, 1) == "mlx5_1");
  CHECK(nearest_device(devices, 0, 2) == "mlx5_0");
  CHECK(nearest_device(devices, 1, 1) == "mlx5_2");
  // Without a node, or a device beside it, all are alike.
  CHECK(nearest_device(devices, {}, 3) == "mlx5_3");
  CHECK(nearest_device(devices, 2, 1) == "mlx5_1");

  machine.add_port("mlx5_0", "1: DOWN", kGid);
  CHECK(nearest_device(machine.devices(), 0, 0) == "mlx5_1");
}

TEST_CASE("without a choice no device is the nearest") {
  Machine machine;
  CHECK(nearest_device(machine.devices(), 0, 0).empty());
  machine.add_port("mlx5_0", "4: ACTIVE", kGid);
  machine.add_port("mlx5_1", "1: DOWN", kNoGid);
  CHECK(nearest_device(machine.devices(), 0, 0).empty());
}

TEST_CASE("the first thing in the way is named, with the remedy") {
  Machine machine;
  machine.add_port("mlx5_0", "1: DOWN", kNoGid);
  CHECK(says(machine, "/dev/infiniband has no uverbs device"));
  machine.add_file("rdma_cm");
  CHECK(says(machine, "--device /dev/infiniband"));
  machine.add_file("uverbs0");
  CHECK(says(machine, "port 1 of mlx5_0 is DOWN: check its cable"));
  machine.add_port("mlx5_1", "4: ACTIVE", kNoGid);
  CHECK(says(machine, "port 1 of mlx5_1 has no address (GID): give its network interface"));
  machine.add_port("mlx5_1", "4: ACTIVE", kGid);
  machine.set_lockable("65536", "0000000000000000");
  CHECK(says(machine, "a process may lock 65.5 kB of memory here: raise the limit"));
  machine.set_lockable("65536", "000001ffffffffff");
  CHECK(obstacle_of(machine.devices()).empty());
}

TEST_CASE("the limit of locked memory is that of the process, without the right to ignore it") {
  Machine machine;
  CHECK_FALSE(machine.devices().lockable);
  machine.set_lockable("8388608", "0000000000003fff");
  CHECK(machine.devices().lockable == Bytes{8'388'608});
  machine.set_lockable("unlimited", "0000000000000000");
  CHECK_FALSE(machine.devices().lockable);
  machine.set_lockable("8388608", "0000000000004000");
  CHECK_FALSE(machine.devices().lockable);
}

TEST_CASE("a device file that the process may not open is named first") {
  Machine machine;
  machine.add_port("mlx5_0", "1: DOWN", kNoGid);
  machine.add_file("uverbs0");
  RdmaDevices devices = machine.devices();
  CHECK(devices.closed.empty());
  devices.closed.emplace_back("/dev/infiniband/uverbs0");
  CHECK(obstacle_of(devices).starts_with("/dev/infiniband/uverbs0 may not be opened: "));
}

TEST_CASE("what a kernel never writes is shown without harm") {
  Machine machine;
  machine.add_port("mlx5\n0", "\x1b[31m", kNoGid);
  machine.add_file("uverbs0");
  CHECK(obstacle_of(machine.devices()).find('\x1b') == std::string::npos);
  CHECK(obstacle_of(machine.devices()).find('\n') == std::string::npos);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
