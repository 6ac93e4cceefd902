#include "agent/gpu_links.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/fake_nvidia_smi.hpp"
#include "support/temp_directory.hpp"
#include "support/topologies.hpp"

namespace fastgpu::agent {
namespace {

using test::FakeNvidiaSmi;
using test::hybrid_cube_mesh;
using Links = std::vector<GpuLink>;

/// A DGX-1 with eight V100 and four adapters, of which one has its row here: the matrix in the
/// tests of github.com/microsoft/msccl (test_topologies.py), with the head as a terminal gets it.
constexpr std::string_view kDgx1 =
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tmlx5_0\tmlx5_2\tmlx5_1\tmlx5_3\tCPU "
    "Affinity\x1b[0m\n"
    "GPU0\t X \tNV1\tNV1\tNV2\tNV2\tSYS\tSYS\tSYS\tPIX\tSYS\tPHB\tSYS\t0-19,40-59\n"
    "GPU1\tNV1\t X \tNV2\tNV1\tSYS\tNV2\tSYS\tSYS\tPIX\tSYS\tPHB\tSYS\t0-19,40-59\n"
    "GPU2\tNV1\tNV2\t X \tNV2\tSYS\tSYS\tNV1\tSYS\tPHB\tSYS\tPIX\tSYS\t0-19,40-59\n"
    "GPU3\tNV2\tNV1\tNV2\t X \tSYS\tSYS\tSYS\tNV1\tPHB\tSYS\tPIX\tSYS\t0-19,40-59\n"
    "GPU4\tNV2\tSYS\tSYS\tSYS\t X \tNV1\tNV1\tNV2\tSYS\tPIX\tSYS\tPHB\t20-39,60-79\n"
    "GPU5\tSYS\tNV2\tSYS\tSYS\tNV1\t X \tNV2\tNV1\tSYS\tPIX\tSYS\tPHB\t20-39,60-79\n"
    "GPU6\tSYS\tSYS\tNV1\tSYS\tNV1\tNV2\t X \tNV2\tSYS\tPHB\tSYS\tPIX\t20-39,60-79\n"
    "GPU7\tSYS\tSYS\tSYS\tNV1\tNV2\tNV1\tNV2\t X \tSYS\tPHB\tSYS\tPIX\t20-39,60-79\n"
    "mlx5_0\tPIX\tPIX\tPHB\tPHB\tSYS\tSYS\tSYS\tSYS\t X \tSYS\tPHB\tSYS\t\n"
    "\n"
    "Legend:\n"
    "\n"
    "  X    = Self\n"
    "  NV#  = Connection traversing a bonded set of # NVLinks\n";

/// The same GPUs in a virtual machine with 64 CPUs, as clouds have it: PHB is in place of SYS.
constexpr std::string_view kVirtualMesh =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tNV1\tNV1\tNV2\tNV2\tPHB\tPHB\tPHB\t0-63\t0-1\n"
    "GPU1\tNV1\t X \tNV2\tNV1\tPHB\tNV2\tPHB\tPHB\t0-63\t0-1\n"
    "GPU2\tNV1\tNV2\t X \tNV2\tPHB\tPHB\tNV1\tPHB\t0-63\t0-1\n"
    "GPU3\tNV2\tNV1\tNV2\t X \tPHB\tPHB\tPHB\tNV1\t0-63\t0-1\n"
    "GPU4\tNV2\tPHB\tPHB\tPHB\t X \tNV1\tNV1\tNV2\t0-63\t0-1\n"
    "GPU5\tPHB\tNV2\tPHB\tPHB\tNV1\t X \tNV2\tNV1\t0-63\t0-1\n"
    "GPU6\tPHB\tPHB\tNV1\tPHB\tNV1\tNV2\t X \tNV2\t0-63\t0-1\n"
    "GPU7\tPHB\tPHB\tPHB\tNV1\tNV2\tNV1\tNV2\t X \t0-63\t0-1\n"
    "\n"
    "Legend:\n"
    "\n"
    "  X    = Self\n"
    "  NV#  = Connection traversing a bonded set of # NVLinks\n";

/// Four A100 of PCIe, joined in pairs by bridges: an NC96ads A100 v4 of Azure, as its users publish
/// it. It has blanks in place of tabs, as copies of a terminal do.
constexpr std::string_view kBridges =
    "        GPU0    GPU1    GPU2    GPU3    CPU Affinity    NUMA Affinity\n"
    "GPU0     X      NV12    SYS     SYS     0-23            0\n"
    "GPU1    NV12     X      SYS     SYS     24-47           1\n"
    "GPU2    SYS     SYS      X      NV12    48-71           2\n"
    "GPU3    SYS     SYS     NV12     X      72-95           3\n";

/// Returns the matrix of a DGX A100 (github.com/NVIDIA/nccl/issues/1505), whose GPUs are joined by
/// switches. Two of its adapters are here.
std::string dgx_a100() {
  constexpr int kGpus = 8;
  std::string text = "\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tNIC0\tNIC1\tCPU Affinity\n";
  for (int i = 0; i < kGpus; ++i) {
    text += "GPU" + std::to_string(i);
    for (int k = 0; k < kGpus; ++k)
      text += i == k ? "\t X " : "\tNV12";
    text +=
        i < 2 ? "\tPXB\tPXB\t48-63,176-191\t3\t\tN/A\n" : "\tSYS\tSYS\t16-31,144-159\t1\t\tN/A\n";
  }
  return text + "NIC0\tPXB\tPXB\tSYS\tSYS\tSYS\tSYS\tSYS\tSYS\t X \tPIX\n";
}

TEST_SUITE_BEGIN("agent/gpu_links");

TEST_CASE("the links of a DGX-1 are those of its mesh, and so are those of a virtual machine") {
  CHECK(links_of_matrix(kDgx1) == hybrid_cube_mesh());
  CHECK(links_of_matrix(kVirtualMesh) == hybrid_cube_mesh());
}

TEST_CASE("bridges join pairs") {
  CHECK(links_of_matrix(kBridges) == Links{{0, 1, 12}, {2, 3, 12}});
}

TEST_CASE("switches join each pair") {
  const Links links = links_of_matrix(dgx_a100());
  CHECK(links.size() == 28);
  for (const GpuLink& link : links)
    CHECK(link.count == 12);
}

TEST_CASE("words that are unknown, and rows that are cut off, are no links") {
  CHECK(links_of_matrix("").empty());
  CHECK(links_of_matrix("GPU0 X PIX\nGPU1 PIX X\n").empty());
  CHECK(links_of_matrix("GPU0 X NVL\nGPU1 NV X\n").empty());
  CHECK(links_of_matrix("GPU0 X NV-4\nGPU1 NV-4 X\n").empty());
  CHECK(links_of_matrix("GPU0 X\nGPU1 NV4 X\n").empty());
  CHECK(links_of_matrix("GPU0 X NV4\nGPU7 NV4 X\n").empty());
  CHECK(links_of_matrix("GPU0 NV4 X\nGPU1 X NV4\n").empty());
  CHECK(links_of_matrix("No devices were found\n").empty());
}

TEST_CASE("a pair has no more links than both rows have, and than there can be") {
  CHECK(links_of_matrix("GPU0 X NV4\nGPU1 NV2 X\n") == Links{{0, 1, 2}});
  CHECK(links_of_matrix("GPU0 X NV999\nGPU1 NV999 X\n") == Links{{0, 1, kMostGpuLinks}});
  CHECK(links_of_matrix("GPU0 X NV99999999999\nGPU1 NV99999999999 X\n").empty());
}

TEST_CASE("links get the numbers of the PCI bus, whatever those of nvidia-smi are") {
  const std::vector<NearDevice> gpus = {
      {"0000:3b:00.0", 0}, {"0000:5e:00.0", 0}, {"10000:01:00.0", 1}};
  const Links links = {{0, 1, 2}, {1, 2, 4}};
  CHECK(links_by_address(links, "00000000:3B:00.0\n00000000:5E:00.0\n00010000:01:00.0\n", gpus) ==
        links);
  CHECK(links_by_address(links, "00010000:01:00.0\n00000000:3B:00.0\n00000000:5E:00.0\n", gpus) ==
        Links{{0, 1, 4}, {0, 2, 2}});
}

TEST_CASE("there are no links unless nvidia-smi lists the GPUs of the kernel") {
  const std::vector<NearDevice> gpus = {{"0000:3b:00.0", 0}, {"0000:5e:00.0", 0}};
  const Links links = {{0, 1, 2}};
  for (const char* addresses :
       {"", "00000000:3B:00.0\n", "00000000:3B:00.0\n00000000:3B:00.0\n",
        "00000000:3B:00.0\n00000000:60:00.0\n",
        "00000000:3B:00.0\n00000000:5E:00.0\n00000000:60:00.0\n", "[N/A]\n[N/A]\n"})
    CHECK(links_by_address(links, addresses, gpus).empty());
  const std::string both = "00000000:3B:00.0\n00000000:5E:00.0\n";
  CHECK(links_by_address(Links{{0, 2, 1}}, both, gpus).empty());
}

TEST_CASE("nvidia-smi is asked for the matrix, and then for the addresses") {
  const test::TempDirectory folder;
  const FakeNvidiaSmi program(folder.path(),
                              "case $1 in\n"
                              "topo) printf 'GPU0 X NV4\\nGPU1 NV4 X\\n' ;;\n"
                              "*) printf '00000000:3B:00.0\\n00000000:5E:00.0\\n' ;;\n"
                              "esac\n");
  const std::vector<NearDevice> gpus = {{"0000:3b:00.0", 0}, {"0000:5e:00.0", 0}};
  CHECK(read_gpu_links(gpus) == Links{{0, 1, 4}});
}

TEST_CASE("a nvidia-smi that fails, or is missing, reports no links") {
  const std::vector<NearDevice> gpus = {{"0000:3b:00.0", 0}, {"0000:5e:00.0", 0}};
  const test::TempDirectory folder;
  {
    const FakeNvidiaSmi program(folder.path(), "printf 'GPU0 X NV4\\nGPU1 NV4 X\\n'; exit 9\n");
    CHECK(read_gpu_links(gpus).empty());
  }
  const test::ChangedPath none("/nowhere");
  CHECK(read_gpu_links(gpus).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
