#include "agent/npus.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "support/temp_directory.hpp"

namespace fastgpu::agent {
namespace {

TEST_SUITE_BEGIN("agent/npus");

TEST_CASE("Ascend processors are found by their device files, with the addresses that they have") {
  const test::TempDirectory root;
  CHECK(npu_devices(root.path()).empty());
  std::filesystem::create_directories(root.path() / "dev");
  std::filesystem::create_directories(root.path() / "etc");
  for (const char* name : {"davinci10", "davinci2", "davinci_manager", "davinci0", "davincix"})
    std::ofstream(root.path() / "dev" / name) << "";
  CHECK(npu_devices(root.path()) ==
        std::vector<NpuDevice>{{.device = 0}, {.device = 2}, {.device = 10}});
  std::ofstream(root.path() / "etc/hccn.conf")
      << "address_0=192.168.100.101\nnetmask_0=255.255.0.0\naddress_10 = 192.168.102.101 \n"
         "address_x=1\naddress_7=192.168.100.108\naddress_2\n";
  CHECK(npu_devices(root.path()) ==
        std::vector<NpuDevice>{{.device = 0, .address = "192.168.100.101"},
                               {.device = 2},
                               {.device = 10, .address = "192.168.102.101"}});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
