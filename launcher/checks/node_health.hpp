// The state of one node as a check sees it: what the script of the check prints there. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace fastgpu::launcher {

/// A file system that jobs write to.
struct CheckedDisk {
  std::string place;  ///< "/root", "/tmp", "/dev/shm"
  Bytes size{};
  Bytes free{};
  std::uint64_t files = 0;  ///< The number of files that it can hold; 0 without a limit.
  std::uint64_t free_files = 0;
  bool writable = true;  ///< A file could be written there.
  std::string device{};  ///< The number of the device: the same for places of one file system.
};

struct CheckedGpu {
  int index = 0;
  std::string driver;  ///< "550.54.15"
  Bytes memory{};
  std::string name;
  std::optional<std::uint64_t> uncorrected{};  ///< Uncorrected errors since the last reset.
  bool remap_pending = false;                  ///< A reset would replace broken rows of memory.
  bool remap_failed = false;                   ///< Broken rows of memory could not be replaced.
};

/// An error that NVIDIA's driver has written to the kernel's log.
struct Xid {
  int code = 0;        ///< 79: the GPU has fallen off the bus.
  std::string device;  ///< "PCI:0000:3b:00"
};

struct NodeRdmaPort {
  std::string device;         ///< "mlx5_0"
  std::string port;           ///< "1"
  std::string state;          ///< "ACTIVE"
  std::string rate;           ///< "100 Gb/sec (4X EDR)"
  std::string link_layer;     ///< "InfiniBand", "Ethernet"
  std::uint64_t sent = 0;     ///< The number of bytes that it has ever sent.
  bool counts_bytes = false;  ///< False if the adapter does not count them.
  std::string name() const { return device + ":" + port; }
};

/// A process of a job on the node.
struct JobProcess {
  int pid = 0;
  std::string job;
  std::string name;
};

struct GpuProcess {
  int pid = 0;
  Bytes memory{};
  std::string name;
};

struct NodeHealth {
  std::chrono::system_clock::time_point time{};  ///< The node's clock when the script began.
  std::string host;                              ///< The node's own name.
  std::string own_address;  ///< The address to which that name resolves there; empty for none.
  std::string kernel;
  Bytes memory{};
  Bytes available{};
  std::optional<Bytes> memlock{};  ///< Absent without a limit.
  std::vector<CheckedDisk> disks;
  int gpus_on_bus = 0;
  int nvswitches = 0;
  int npus = 0;
  std::vector<std::string> cuda;  ///< The toolkits: "12.4".
  std::vector<CheckedGpu> gpus;   ///< The GPUs that nvidia-smi lists.
  std::string gpu_failure;        ///< The error of nvidia-smi; empty for none.
  std::string fabric_manager;     ///< "running", "stopped"; empty if it is not installed.
  std::string fabric_manager_version;
  std::vector<Xid> xids;
  std::vector<NodeRdmaPort> rdma;
  std::vector<JobProcess> processes;
  std::set<std::string> running_jobs;  ///< Jobs with processes and a live supervisor here.
  std::vector<GpuProcess> gpu_processes;
  int shared_files = 0;  ///< The number of files that jobs have left in /dev/shm, or use there.
  Bytes shared_bytes{};
};

/// Returns the script for a node's sh. Its first argument may be empty.
std::string_view check_script() noexcept;

/// Parses the output of the script. Throws ErrorKind::remote, naming the line, if it is cut off or
/// malformed.
NodeHealth parse_node_health(std::string_view text);

/// Returns the time of the first line that has one, as soon as the line is complete.
std::optional<std::chrono::system_clock::time_point> node_time_in(std::string_view text);

}  // namespace fastgpu::launcher
