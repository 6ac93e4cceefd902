// What is true on a node, as far as software for it must know.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace fastgpu::envs {

struct Os {
  std::string id{};                 ///< "debian", "ubuntu", "rhel", "alinux": ID of os-release.
  std::vector<std::string> like{};  ///< ID_LIKE.
  std::string version{};            ///< "12", "22.04"
  std::string codename{};           ///< "bookworm"
  std::string name{};               ///< "Debian GNU/Linux 12 (bookworm)"
};

enum class Packages : std::uint8_t { none, apt, dnf, yum, zypper };
enum class Sudo : std::uint8_t {
  not_needed,  ///< We are root.
  free,        ///< sudo asks for no password.
  password,    ///< It asks for one.
  terminal,    ///< sudo runs from a terminal alone (requiretty), and we have none there.
  none,        ///< There is no sudo, or we may not use it.
};

struct Gpu {
  std::string vendor;    ///< "nvidia", "ascend", "amd"
  std::string model{};   ///< "NVIDIA L40S", as the best source names it; may be empty.
  std::string pci_id{};  ///< Device identity, "26b9"; empty where only a tool knew the GPU.
  Bytes memory{};        ///< 0 where it is not known.
};

struct NvidiaFacts {
  std::string loaded{};     ///< Version of the kernel module that runs; empty: none.
  std::string installed{};  ///< Version of the module on disk for the running kernel.
  bool answers = false;     ///< nvidia-smi ran and listed GPUs.
  bool open = false;        ///< The loaded module is the open one.
  bool nouveau = false;     ///< nouveau has the GPUs.
  int nvswitches = 0;
};

struct RdmaDevice {
  std::string name;      ///< "mlx5_0", "rdmap0s6"
  std::string driver{};  ///< "mlx5_core", "efa", "erdma"
};

struct Disk {
  std::string path;  ///< "/opt": a place that software goes to.
  std::string type;  ///< "ext4", "nfs4", "overlay"
  Bytes size{};
  Bytes free{};
  bool over_network() const noexcept;
};

struct Python {
  std::string path;     ///< "/usr/bin/python3"
  std::string version;  ///< "3.11.2"
};

struct NodeFacts {
  std::string host;  ///< Its own name for itself.
  Os os{};
  std::string kernel;  ///< "6.1.0-18-amd64"
  std::string arch;    ///< "x86_64", "aarch64"
  std::string libc;    ///< "glibc 2.36", "musl 1.2.4"
  std::string boot_id;
  std::string user;
  std::string home;
  Sudo sudo = Sudo::none;
  Packages packages = Packages::none;
  int cores = 1;
  Bytes memory{};
  bool secure_boot = false;
  bool reboot_wanted = false;  ///< The distribution says so.

  std::vector<Gpu> gpus;
  NvidiaFacts nvidia{};
  std::string cann{};                     ///< "8.3.RC1", the usual one; empty where there is none.
  std::vector<std::string> canns;         ///< All that are there.
  std::string efa{};                      ///< Of the EFA installer that ran here.
  std::vector<std::string> cuda;          ///< Toolkits, "12.4"
  std::string nccl{};                     ///< "2.27.3"
  std::vector<std::string> pci_adapters;  ///< Of networks: "1d0f:efa1", vendor and device.
  std::vector<RdmaDevice> rdma;
  std::vector<std::string> modules;  ///< Loaded ones that matter here: "nvidia_peermem"
  std::vector<Disk> disks;
  std::vector<Python> pythons;

  std::map<std::string, std::string> installed;  ///< Packages that matter here, with versions.
  std::map<std::string, std::vector<std::string>> candidates;  ///< What the repositories have.
  std::map<std::string, std::string> files;  ///< Files of ours, by path, with their SHA-256.
  std::vector<std::string> services;         ///< Those that matter here and run.
  bool packages_broken = false;              ///< dpkg was interrupted.
};

/// Reads what the probe writes, at most 1 MiB of it; what stands before its first line (a login's
/// greeting) is skipped. Throws ErrorKind::remote where it is cut short or not one.
NodeFacts parse_facts(std::string_view text);

/// glibc's version, "2.36"; empty for another libc.
std::string glibc_version(const NodeFacts& facts);

/// The GPUs in few words, "8 x NVIDIA H200"; "no GPU".
std::string describe_gpus(const NodeFacts& facts);

}  // namespace fastgpu::envs
