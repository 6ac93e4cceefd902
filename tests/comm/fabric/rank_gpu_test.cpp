// Which GPU a rank has, on machines that are folders of files.
#include "comm/fabric/rank_gpu.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "support/temp_directory.hpp"

namespace fastgpu::comm::fabric {
namespace {

namespace fs = std::filesystem;

/// The kernel's files of a machine with processors of one node and some devices on its bus.
class GpuMachine {
 public:
  GpuMachine() {
    fs::create_directories(root() / "sys/bus/pci/devices");
    fs::create_directories(root() / "sys/devices/system/node/node0");
    fs::create_directories(root() / "proc/self");
    std::ofstream(root() / "sys/devices/system/node/node0/cpulist") << "0-3\n";
    std::ofstream(root() / "proc/self/status") << "Cpus_allowed_list:\t0-3\n";
  }
  void add(const fs::path& place, const std::string& vendor, const std::string& kind, int node) {
    const fs::path device = root() / "sys/devices" / place;
    fs::create_directories(device);
    std::ofstream(device / "vendor") << vendor << '\n';
    std::ofstream(device / "class") << kind << '\n';
    std::ofstream(device / "numa_node") << node << '\n';
    fs::create_directory_symlink(device, root() / "sys/bus/pci/devices" / place.filename());
  }
  const fs::path& root() const { return folder_.path(); }

 private:
  test::TempDirectory folder_;
};

void add_devices(GpuMachine& machine) {
  machine.add("pci0000:80/0000:80:01.0/0000:9a:00.0", "0x10de", "0x030200", 1);
  machine.add("pci0000:00/0000:00:01.0/0000:1a:00.0", "0x10de", "0x030000", 0);
  machine.add("pci0000:80/0000:80:02.0/0000:9b:00.0", "0x10de", "0x030200", -1);
  machine.add("pci0000:00/0000:00:02.0/0000:1b:00.0", "0x10de", "0x068000", 0);  // A switch.
  machine.add("pci0000:00/0000:00:03.0/0000:1c:00.0", "0x1002", "0x030000",
              0);  // Of another maker.
}

TEST_SUITE_BEGIN("comm/rank_gpu");

TEST_CASE("the GPUs of a machine are those of NVIDIA, in the order of the bus") {
  GpuMachine machine;
  CHECK(gpus_of_machine(machine.root()).empty());
  add_devices(machine);
  const auto gpus = gpus_of_machine(machine.root());
  REQUIRE(gpus.size() == 3);
  CHECK(gpus[0].address == "0000:1a:00.0");
  CHECK(gpus[0].place == "pci0000:00/0000:00:01.0/0000:1a:00.0");
  CHECK(gpus[1].numa_node == 1);
  CHECK_FALSE(gpus[2].numa_node);
  CHECK(gpus_of_machine(machine.root() / "none").empty());
}

TEST_CASE("a rank uses the visible GPU with its number on the machine, by convention") {
  const auto usual = [](std::optional<int> rank, std::optional<std::string> visible) {
    return usual_gpu(4, {.local_rank = rank, .visible = std::move(visible)});
  };
  CHECK(usual(2, {}) == 2);
  CHECK(usual(5, {}) == 1);
  CHECK(usual(1, "3, 2") == 2);
  CHECK(usual({}, "3") == 3);
  CHECK(usual(1, "3,9,2") == 3);  // CUDA ends the list at the first that is not there.
  CHECK_FALSE(usual({}, {}));
  CHECK_FALSE(usual(-1, {}));
  for (const char* const list : {"", "-1", "GPU-7f3a", "MIG-1,0"})
    CHECK_FALSE(usual(0, list));
  CHECK_FALSE(usual_gpu(0, {.local_rank = 0}));
}

TEST_CASE("a rank's device is to be near its GPU, and without one near its processors") {
  GpuMachine machine;
  add_devices(machine);
  const auto near = [&](const GpuVariables& variables, const std::string& current) {
    return neighbour_of(variables, current, machine.root());
  };
  CHECK(near({.local_rank = 1}, "").pci_place == "pci0000:80/0000:80:01.0/0000:9a:00.0");
  CHECK(near({.local_rank = 1}, "").numa_node == 1);
  // The current GPU of CUDA counts more than the variables.
  CHECK(near({.local_rank = 1}, "0000:1a:00.0").numa_node == 0);
  CHECK(near({.local_rank = 1}, "0000:ff:00.0").pci_place.empty());
  // The bus does not know the GPU's node: it is that of the processors.
  CHECK(near({.local_rank = 2}, "").numa_node == 0);
  CHECK(near({}, "").pci_place.empty());
  CHECK(near({}, "").numa_node == 0);
}

TEST_CASE("a process that has not begun to use CUDA has no current GPU") {
  CHECK(current_gpu().empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm::fabric
