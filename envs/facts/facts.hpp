// The facts of a node that matter for software on it.
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
  free,        ///< sudo requires no password.
  password,    ///< sudo requires one.
  terminal,    ///< sudo only runs from a terminal (requiretty), and we have none there.
  none,        ///< sudo is missing, or we may not use it.
};

struct Gpu {
  std::string vendor;    ///< "nvidia", "ascend", "amd"
  std::string model{};   ///< The name from the best source, "NVIDIA L40S"; may be empty.
  std::string pci_id{};  ///< The device identity, "26b9"; empty if only a tool found the GPU.
  Bytes memory{};        ///< 0 if unknown.
};

struct NvidiaFacts {
  std::string loaded{};     ///< The version of the loaded kernel module; empty: not loaded.
  std::string installed{};  ///< The version of the module on disk for the running kernel.
  bool answers = false;     ///< nvidia-smi ran and listed GPUs.
  bool open = false;        ///< The loaded module is the open one.
  bool nouveau = false;     ///< nouveau uses the GPUs.
  int nvswitches = 0;
};

struct RdmaDevice {
  std::string name;      ///< "mlx5_0", "rdmap0s6"
  std::string driver{};  ///< "mlx5_core", "efa", "erdma"
};

/// A file by which programs use RDMA devices.
struct RdmaFile {
  std::string name;  ///< "uverbs0", "rdma_cm": in /dev/infiniband.
  /// Whether every user may open it.
  bool is_open = false;
};

struct Disk {
  std::string path;  ///< "/opt": a place for software.
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
  std::string host;  ///< The node's own name for itself.
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
  bool reboot_wanted = false;  ///< The distribution requires it.

  std::vector<Gpu> gpus;
  NvidiaFacts nvidia{};
  std::string cann{};                     ///< "8.3.RC1", the default one; empty without CANN.
  std::vector<std::string> canns;         ///< All installed ones.
  std::string efa{};                      ///< The version of the EFA installer that ran here.
  std::vector<std::string> cuda;          ///< Toolkits, "12.4"
  std::string nccl{};                     ///< "2.27.3"
  std::vector<std::string> pci_adapters;  ///< The network adapters: "1d0f:efa1", vendor and device.
  std::vector<RdmaDevice> rdma;
  std::vector<RdmaFile> rdma_files;
  std::vector<std::string> modules;  ///< The relevant loaded modules: "nvidia_peermem"
  std::vector<Disk> disks;
  std::vector<Python> pythons;

  std::map<std::string, std::string> installed;  ///< The relevant packages, with versions.
  /// The versions in the repositories.
  std::map<std::string, std::vector<std::string>> candidates;
  std::map<std::string, std::string> files;  ///< Files of ours, by path, with their SHA-256.
  std::vector<std::string> services;         ///< The relevant running services.
  bool packages_broken = false;              ///< dpkg was interrupted.
};

/// Reads the probe's output, at most 1 MiB of it; skips the text before its first line (a login's
/// greeting). Throws ErrorKind::remote if it is cut short or malformed.
NodeFacts parse_facts(std::string_view text);

/// Returns glibc's version, "2.36"; empty for another libc.
std::string glibc_version(const NodeFacts& facts);

/// Returns the GPUs in few words, "8 x NVIDIA H200"; "no GPU".
std::string describe_gpus(const NodeFacts& facts);

}  // namespace fastgpu::envs
