#include "envs/facts/facts.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "support/failure.hpp"

namespace fastgpu::envs {
namespace {

using test::failure_of;

/// Lines as the probe writes them, with '|' for tabs.
std::string recorded(std::string lines) {
  for (char& c : lines)
    if (c == '|') c = '\t';
  return lines;
}

const std::string kH200 = recorded(
    "Welcome to Ubuntu 22.04.4 LTS\n"
    "fastgpu-facts|1\n"
    "host|train-0\n"
    "kernel|5.15.0-119-generic\n"
    "arch|x86_64\n"
    "user|ubuntu\n"
    "home|/home/ubuntu\n"
    "boot|4c2e\n"
    "os|ubuntu|22.04|jammy|Ubuntu 22.04.4 LTS|debian\n"
    "libc|glibc 2.35\n"
    "cores|192\n"
    "memory|2113408000\n"
    "secure_boot|0\n"
    "sudo|free\n"
    "pci|0000:0f:00.0|030200|0x10de|0x2335\n"
    "pci|0000:2d:00.0|030200|0x10de|0x2335\n"
    "pci|0000:05:00.0|068000|0x10de|0x22a3\n"
    "pci|0000:18:00.0|020700|0x15b3|0x1021\n"
    "pci|0000:0f:00.0|030200|0x10de|0x2335\n"
    "nvidia_loaded|NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release\n"
    "nvidia_smi|NVIDIA H200, 143771, 580.65.06\n"
    "nvidia_smi|NVIDIA H200, 143771, 580.65.06\n"
    "nvidia_module|580.95.05|Dual MIT/GPL\n"
    "rdma|mlx5_0|mlx5_core\n"
    "rdma_file|uverbs0|666\n"
    "rdma_file|rdma_cm|600\n"
    "module|nvidia\n"
    "cuda|13.0\n"
    "cuda|12.8\n"
    "nccl|2.27.3\n"
    "python|/usr/bin/python3|3.10.12\n"
    "disk|/|ext2/ext3|4096|1000|500\n"
    "disk|/home/ubuntu|nfs|1048576|2|1\n"
    "packages|apt\n"
    "installed|nvidia-open-580|580.65.06-0ubuntu1\n"
    "candidate|nvidia-open-580|580.95.05-0ubuntu1\n"
    "candidate|nvidia-open-580|580.65.06-0ubuntu1\n"
    "file|/etc/apt/preferences.d/fastgpu-nvidia|00ff\n"
    "service|nvidia-fabricmanager\n"
    "a_word_of_tomorrow|1\n"
    "end\n");

TEST_SUITE_BEGIN("envs facts");

TEST_CASE("a GPU machine is read from what its probe says") {
  const NodeFacts facts = parse_facts(kH200);

  CHECK(facts.host == "train-0");
  CHECK(facts.os.id == "ubuntu");
  CHECK(facts.os.codename == "jammy");
  CHECK(facts.os.like == std::vector<std::string>{"debian"});
  CHECK(glibc_version(facts) == "2.35");
  CHECK(facts.cores == 192);
  CHECK(facts.sudo == Sudo::free);
  CHECK(facts.packages == Packages::apt);
  CHECK(describe_gpus(facts) == "2 x NVIDIA H200");
  CHECK(facts.gpus[0].pci_id == "2335");
  CHECK(facts.gpus[0].memory == Bytes{143771ULL << 20});
  CHECK(facts.nvidia.loaded == "580.65.06");
  CHECK(facts.nvidia.installed == "580.95.05");
  CHECK(facts.nvidia.open);
  CHECK(facts.nvidia.answers);
  CHECK(facts.nvidia.nvswitches == 1);
  CHECK(facts.pci_adapters == std::vector<std::string>{"15b3:1021"});
  REQUIRE(facts.rdma_files.size() == 2);
  CHECK(facts.rdma_files[0].name == "uverbs0");
  CHECK(facts.rdma_files[0].is_open);
  CHECK_FALSE(facts.rdma_files[1].is_open);
  CHECK(facts.rdma[0].driver == "mlx5_core");
  CHECK(facts.cuda == std::vector<std::string>{"13.0", "12.8"});
  CHECK(facts.pythons[0].version == "3.10.12");
  CHECK(facts.disks[0].free == Bytes{500 * 4096});
  CHECK_FALSE(facts.disks[0].over_network());
  CHECK(facts.disks[1].over_network());
  CHECK(facts.installed.at("nvidia-open-580") == "580.65.06-0ubuntu1");
  CHECK(facts.candidates.at("nvidia-open-580").size() == 2);
  CHECK(facts.files.at("/etc/apt/preferences.d/fastgpu-nvidia") == "00ff");
  CHECK(facts.services == std::vector<std::string>{"nvidia-fabricmanager"});
}

TEST_CASE("a node without anything has no GPU, and says so in words") {
  const NodeFacts facts = parse_facts(recorded("fastgpu-facts|1\nhost|a\nlibc|musl 1.2.4\nend\n"));
  CHECK(describe_gpus(facts) == "no GPU");
  CHECK(glibc_version(facts).empty());
  CHECK(facts.cores == 1);
}

TEST_CASE("Ascend's processors are GPUs too, by the bus or by npu-smi") {
  const auto of = [](const char* lines) {
    return parse_facts(recorded("fastgpu-facts|1\n" + std::string(lines) + "\nend\n"));
  };
  CHECK(describe_gpus(of("pci|0000:c1:00.0|120000|0x19e5|0xd802")) == "1 x ascend d802");
  CHECK(describe_gpus(of("npu|0\nnpu|1")) == "2 x ascend");
}

TEST_CASE("a complaint of nvidia-smi is no GPU") {
  const NodeFacts facts = parse_facts(
      recorded("fastgpu-facts|1\nnvidia_smi|NVIDIA-SMI has failed because it couldn't\nend\n"));
  CHECK(facts.gpus.empty());
  CHECK_FALSE(facts.nvidia.answers);
}

TEST_CASE("what is cut short, foreign or endless is refused") {
  for (const std::string& text : {kH200.substr(0, kH200.size() - 4), std::string(),
                                  std::string("hello\n"), std::string((1 << 20) + 1, 'x')}) {
    const Error error = failure_of([&] { parse_facts(text); });
    CHECK(error.kind() == ErrorKind::remote);
    CHECK(std::string(error.what()).size() < 200);
  }
}

TEST_CASE("values are kept short, and steer no terminal") {
  const std::string nasty =
      "fastgpu-facts\t1\nhost\ta\x1b[2Jb\nkernel\t" + std::string(5000, 'k') +
      "\nmemory\t99999999999999999999\ndisk\t/\tx\t18446744073709551615\t9\t9\n"
      "disk\nend\n";
  const NodeFacts facts = parse_facts(nasty);
  CHECK(facts.host == "a[2Jb");
  CHECK(facts.kernel.size() == 512);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
