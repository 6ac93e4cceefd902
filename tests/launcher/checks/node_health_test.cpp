#include "launcher/checks/node_health.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <string>

#include "process/capture.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::launcher {
namespace {

using test::failure_of;
using test::mentions;
namespace fs = std::filesystem;

/// Returns the output of the script with these lines.
std::string output_with(const std::string& lines) {
  return "Welcome to the node!\nfastgpu-check\t1\n" + lines + "end\n";
}

void put_file(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text << "\n";
}

/// Runs the script for the files below `root`, with the programs in `root`/bin in front. Returns
/// its output.
std::string run_script(const fs::path& root) {
  const Cancel never;
  // The script puts the system's directories first, as a login without a PATH needs it.
  std::string script(check_script());
  const std::string path = "PATH=/usr/local/sbin";
  script.replace(script.find(path), path.size(), "PATH=" + (root / "bin").string() + ":/sbin");
  process::CaptureOptions options;
  options.input = script;
  return process::capture({.argv = {"sh", "-s", "--", root.string()}}, options, never).out;
}

void put_program(const fs::path& path, const std::string& body) {
  put_file(path, "#!/bin/sh\n" + body);
  fs::permissions(path, fs::perms::owner_all);
}

TEST_SUITE_BEGIN("launcher/checks/node_health");

TEST_CASE("the lines of the script become facts, and a greeting before them is skipped") {
  const NodeHealth state = parse_node_health(output_with(
      "time\t1700000000.250000000\nhost\tn1\nkernel\t6.1.0\nmemory\t2048\navailable\t1024\n"
      "memlock\t8388608\ndisk\t/tmp\t4096\t100\t50\t10\t5\tno\ngpu_on_bus\t0000:3b:00.0\n"
      "gpu\t0\t550.54.15\t81559\tNVIDIA H100\necc\t0\t3\nremapped\t0\tYes\tNo\n"
      "xid\t79\tPCI:0000:3b:00\trest\nrdma\tmlx5_0\t1\t4: ACTIVE\t100 Gb/sec\tInfiniBand\t4000\n"
      "process\t12\ttrain-1\tpython\njob_runs\ttrain-1\ngpu_process\t13\t500\tpython3\nshared_"
      "memory\t/dev/shm/a\t7\n"
      "a word of a later version\t1\n"));
  CHECK(state.time.time_since_epoch() ==
        std::chrono::seconds(1'700'000'000) + std::chrono::milliseconds(250));
  CHECK(state.host == "n1");
  CHECK(state.memory == Bytes{2'048 * 1'024});
  CHECK(state.memlock == Bytes{8'388'608});
  REQUIRE(state.disks.size() == 1);
  CHECK(state.disks[0].free == Bytes{4'096 * 50});
  CHECK(state.disks[0].free_files == 5);
  CHECK_FALSE(state.disks[0].writable);
  REQUIRE(state.gpus.size() == 1);
  CHECK(state.gpus[0].name == "NVIDIA H100");
  CHECK(state.gpus[0].uncorrected == 3);
  CHECK(state.gpus[0].remap_pending);
  CHECK_FALSE(state.gpus[0].remap_failed);
  CHECK(state.xids.at(0).code == 79);
  CHECK(state.rdma.at(0).state == "ACTIVE");
  CHECK(state.rdma.at(0).sent == 4'000);
  CHECK(state.processes.at(0).job == "train-1");
  CHECK(state.running_jobs == std::set<std::string>{"train-1"});
  CHECK(state.gpu_processes.at(0).memory == Bytes{500U << 20U});
  CHECK(state.shared_files == 1);
}

TEST_CASE("numbers that are none, or too large, are refused by their line") {
  for (const char* line : {"memory\tmuch", "memory\t-1", "memory\t18446744073709551615",
                           "disk\t/tmp\t4096\t4503599627370497000\t1\t1\t1\tyes", "time\tnow",
                           "gpu\t99999999999\t1\t1\tx", "ecc\t5\t1"}) {
    const Error e = failure_of([&] { parse_node_health(output_with(std::string(line) + "\n")); });
    CHECK(e.kind() == ErrorKind::remote);
    CHECK(mentions(e, "the check has printed"));
  }
}

TEST_CASE("output without its end is refused, and so is no output") {
  CHECK(mentions(failure_of([] { parse_node_health("fastgpu-check\t1\nhost\tn1\n"); }), "cut off"));
  CHECK(mentions(failure_of([] { parse_node_health("sh: not found\n"); }), "nothing"));
}

TEST_CASE("bytes that would control a terminal do not get into facts") {
  CHECK(parse_node_health(output_with("host\tn\x1b[31m1\n")).host == "n[31m1");
}

TEST_CASE("the node's time is known once its line is complete") {
  CHECK_FALSE(node_time_in("fastgpu-check\t1\ntime\t17000"));
  CHECK(node_time_in("fastgpu-check\t1\ntime\t1700000000.%N\nho")->time_since_epoch() ==
        std::chrono::seconds(1'700'000'000));
}

TEST_CASE("the script reads this machine") {
  const test::TempDirectory empty;
  const NodeHealth state = parse_node_health(run_script("/"));
  CHECK_FALSE(state.kernel.empty());
  CHECK(state.memory.count > state.available.count);
  CHECK(state.disks.size() >= 2);
  CHECK(std::chrono::abs(state.time - std::chrono::system_clock::now()) < std::chrono::seconds(60));
}

TEST_CASE("the script reads adapters, buses and tools of NVIDIA") {
  const test::TempDirectory root;
  put_file(root.path() / "proc/meminfo", "MemTotal:  1000 kB\nMemAvailable: 900 kB");
  const fs::path port = root.path() / "sys/class/infiniband/mlx5_0/ports/1";
  put_file(port / "state", "1: DOWN");
  put_file(port / "rate", "10 Gb/sec (4X SDR)");
  put_file(port / "link_layer", "InfiniBand");
  put_file(port / "counters/port_xmit_data", "25");
  for (const char* slot : {"0000:3b:00.0", "0000:5e:00.0"}) {
    put_file(root.path() / "sys/bus/pci/devices" / slot / "vendor", "0x10de");
    put_file(root.path() / "sys/bus/pci/devices" / slot / "class", "0x030200");
  }
  put_program(root.path() / "bin/nvidia-smi",
              "case $1 in\n"
              "--query-gpu=index,driver*) echo '0, 550.54.15, 81559, NVIDIA H100 80GB HBM3' ;;\n"
              "--query-gpu=index,ecc*) echo '0, 2' ;;\n"
              "--query-gpu=index,remapped*) echo '0, No, Yes' ;;\n"
              "--query-compute*) echo '77, 512, /usr/bin/python3' ;;\n"
              "esac");
  put_program(root.path() / "bin/dmesg",
              "echo '[ 5.0] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.'");
  const NodeHealth state = parse_node_health(run_script(root.path()));
  CHECK(state.gpus_on_bus == 2);
  REQUIRE(state.gpus.size() == 1);
  CHECK(state.gpus[0].driver == "550.54.15");
  CHECK(state.gpus[0].name == "NVIDIA H100 80GB HBM3");
  CHECK(state.gpus[0].uncorrected == 2);
  CHECK(state.gpus[0].remap_failed);
  CHECK(state.gpu_processes.at(0).pid == 77);
  CHECK(state.xids.at(0).code == 79);
  REQUIRE(state.rdma.size() == 1);
  CHECK(state.rdma[0].state == "DOWN");
  CHECK(state.rdma[0].rate == "10 Gb/sec (4X SDR)");
  CHECK(state.rdma[0].sent == 100);
}

TEST_CASE("an nvidia-smi that fails is a fact, and not the end of the script") {
  const test::TempDirectory root;
  put_file(root.path() / "proc/meminfo", "MemTotal:  1000 kB\nMemAvailable: 900 kB");
  put_program(root.path() / "bin/nvidia-smi", "echo 'Failed to initialize NVML'; exit 9");
  CHECK(parse_node_health(run_script(root.path())).gpu_failure == "Failed to initialize NVML");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
