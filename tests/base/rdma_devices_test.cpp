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
  /// Sets a file of a port, such as "rate" or "gid_attrs/types/0".
  void set_of_port(const std::string& device, const fs::path& file, const std::string& text) {
    const fs::path path = root() / "sys/class/infiniband" / device / "ports/1" / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
  }
  /// Puts a device at a place on a bus, with a driver; an empty one is no driver.
  void set_place_of(const std::string& device, const fs::path& place, const std::string& driver) {
    const fs::path folder = root() / "sys/devices" / place;
    fs::create_directories(folder / "net/eth7");
    if (!driver.empty()) fs::create_symlink("../../bus/pci/drivers/" + driver, folder / "driver");
    fs::create_directory_symlink(folder, root() / "sys/class/infiniband" / device / "device");
  }
  void set_of_device(const std::string& device, const fs::path& file, const std::string& text) {
    std::ofstream(root() / "sys/class/infiniband" / device / file) << text << '\n';
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

TEST_CASE("a port has its driver, speed, link layer, interface and place") {
  Machine machine;
  machine.add_port("mlx5_0", "4: ACTIVE", kGid);
  machine.set_of_port("mlx5_0", "rate", "200 Gb/sec (4X HDR)");
  machine.set_of_port("mlx5_0", "link_layer", "Ethernet");
  machine.set_of_port("mlx5_0", "gid_attrs/ndevs/0", "eth3");
  machine.set_place_of("mlx5_0", "pci0000:00/0000:00:01.0/0000:3b:00.0", "mlx5_core");
  machine.add_port("mlx5_1", "1: DOWN", kNoGid);
  machine.set_of_port("mlx5_1", "rate", "2.5 Gb/sec (1X SDR)");
  machine.set_place_of("mlx5_1", "pci0000:00/0000:00:02.0/0000:3c:00.0", "mlx5_core");
  const auto ports = machine.devices().ports;
  REQUIRE(ports.size() == 2);
  CHECK(ports[0].driver == "mlx5_core");
  CHECK(ports[0].mbit == 200'000);
  CHECK(ports[0].link_layer == "Ethernet");
  CHECK(ports[0].interface == "eth3");
  CHECK(ports[0].pci_place == "pci0000:00/0000:00:01.0/0000:3b:00.0");
  CHECK(ports[1].mbit == 2'500);
  CHECK(ports[1].link_layer.empty());
  CHECK(ports[1].interface == "eth7");  // No address names one: the device has only this.
}

TEST_CASE("devices in software are known, though their folders name no driver or the wrong one") {
  Machine machine;
  machine.add_port("rxe0", "4: ACTIVE", kGid);
  machine.set_of_device("rxe0", "parent", "eth0");
  machine.add_port("siw0", "4: ACTIVE", kGid);
  machine.set_place_of("siw0", "pci0000:00/0000:00:03.0/virtio0", "virtio_net");
  machine.set_of_device("siw0", "node_desc", "Software iWARP stack");
  machine.add_port("new0", "4: ACTIVE", kGid);
  const auto ports = machine.devices().ports;
  REQUIRE(ports.size() == 3);
  CHECK(ports[0].driver.empty());
  CHECK(ports[1].driver == "rdma_rxe");
  CHECK(ports[1].pci_place.empty());
  CHECK(ports[2].driver == "siw");
  CHECK(ports[2].pci_place == "pci0000:00/0000:00:03.0");
  CHECK(plain_driver_name("mlx5_core") == "mlx5");
  CHECK(plain_driver_name("rdma_rxe") == "rxe");
  CHECK(plain_driver_name("efa") == "efa");
}

TEST_CASE("the addresses of a port are those that are set, by index, and of a bounded number") {
  Machine machine;
  machine.add_port("mlx5_0", "4: ACTIVE", kGid);
  for (int index = 2; index < 40; ++index)
    machine.set_of_port("mlx5_0", "gids/" + std::to_string(index), index == 3 ? kNoGid : kGid);
  machine.set_of_port("mlx5_0", "gid_attrs/types/2", "RoCE v2");
  machine.set_of_port("mlx5_0", "gid_attrs/ndevs/2", "eth3");
  const auto gids = gids_of(machine.devices().ports.at(0), machine.root());
  REQUIRE(gids.size() == kMaxGids);
  CHECK(gids[0] == RdmaGid{.index = 1, .gid = kGid});
  CHECK(gids[1] == RdmaGid{.index = 2, .gid = kGid, .type = "RoCE v2", .interface = "eth3"});
  CHECK(gids[2].index == 4);
  CHECK(gids.back().index == 17);
  CHECK(gids_of({.device = "none", .number = "1"}, machine.root()).empty());
}

TEST_CASE("an address is found at the beginning of a long table, and at its end") {
  for (const int place : {1, 1'023}) {
    Machine machine;
    machine.add_port("rxe0", "4: ACTIVE", kNoGid);
    for (int index = 2; index < 1'024; ++index)
      machine.set_of_port("rxe0", "gids/" + std::to_string(index), kNoGid);
    CHECK_FALSE(machine.devices().ports.at(0).has_address);
    machine.set_of_port("rxe0", "gids/" + std::to_string(place), kGid);
    CHECK(machine.devices().ports.at(0).has_address);
    CHECK(gids_of(machine.devices().ports.at(0), machine.root()).at(0).index == place);
  }
}

TEST_CASE("speeds that are none are unknown") {
  for (const char* const rate :
       {"", "fast", "-1 Gb/sec", "nan", "inf", "0 Gb/sec", "1e300 Gb/sec"}) {
    Machine machine;
    machine.add_port("mlx5_0", "4: ACTIVE", kGid);
    machine.set_of_port("mlx5_0", "rate", rate);
    CAPTURE(rate);
    CHECK(machine.devices().ports.at(0).mbit == 0);
  }
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
  CHECK(nearest_device(devices, {.numa_node = 0}, 0) == "mlx5_0");
  CHECK(nearest_device(devices, {.numa_node = 0}, 1) == "mlx5_1");
  CHECK(nearest_device(devices, {.numa_node = 0}, 2) == "mlx5_0");
  CHECK(nearest_device(devices, {.numa_node = 1}, 1) == "mlx5_2");
  // Without a node, or a device beside it, all are alike.
  CHECK(nearest_device(devices, {}, 3) == "mlx5_3");
  CHECK(nearest_device(devices, {.numa_node = 2}, 1) == "mlx5_1");

  machine.add_port("mlx5_0", "1: DOWN", kGid);
  CHECK(nearest_device(machine.devices(), {.numa_node = 0}, 0) == "mlx5_1");
}

TEST_CASE("a GPU's place on the bus comes before its node of memory, and that before the turn") {
  RdmaDevices devices;
  const auto add = [&](const char* device, const char* place, int node) {
    devices.ports.push_back(
        {.device = device, .state = "ACTIVE", .numa_node = node, .pci_place = place});
  };
  // Two switches below the first host bridge, one below the second.
  add("mlx5_0", "pci0000:00/0000:00:01.0/0000:10:00.0/0000:11:00.0", 0);
  add("mlx5_1", "pci0000:00/0000:00:02.0/0000:20:00.0/0000:21:00.0", 0);
  add("mlx5_2", "pci0000:80/0000:80:01.0/0000:90:00.0/0000:91:00.0", 1);
  add("mlx5_3", "pci0000:80/0000:80:01.0/0000:90:00.0/0000:92:00.0", 1);
  const auto nearest = [&](const char* gpu, std::optional<int> node, int turn = 0) {
    return nearest_device(devices, {.numa_node = node, .pci_place = gpu}, turn);
  };
  CHECK(nearest("pci0000:00/0000:00:02.0/0000:20:00.0/0000:2a:00.0", 1) == "mlx5_1");
  CHECK(nearest("pci0000:80/0000:80:01.0/0000:90:00.0/0000:9a:00.0", {}, 0) == "mlx5_2");
  CHECK(nearest("pci0000:80/0000:80:01.0/0000:90:00.0/0000:9a:00.0", {}, 1) == "mlx5_3");
  // Below the same host bridge, and below none that is known.
  CHECK(nearest("pci0000:00/0000:00:07.0/0000:70:00.0", {}, 1) == "mlx5_1");
  CHECK(nearest("pci0000:c0/0000:c0:01.0/0000:c1:00.0", 1) == "mlx5_2");
  CHECK(nearest("pci0000:c0/0000:c0:01.0/0000:c1:00.0", {}, 3) == "mlx5_3");
  // A device that is down is not near.
  devices.ports[1].state = "DOWN";
  CHECK(nearest("pci0000:00/0000:00:02.0/0000:20:00.0/0000:2a:00.0", 1) == "mlx5_0");
}

TEST_CASE("without a choice no device is the nearest") {
  Machine machine;
  CHECK(nearest_device(machine.devices(), {.numa_node = 0}, 0).empty());
  machine.add_port("mlx5_0", "4: ACTIVE", kGid);
  machine.add_port("mlx5_1", "1: DOWN", kNoGid);
  CHECK(nearest_device(machine.devices(), {.numa_node = 0}, 0).empty());
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
