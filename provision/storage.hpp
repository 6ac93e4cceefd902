// The storage of nodes beside their system disk: a data disk of their own, and NFS exports that
// they share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "state/storage.hpp"

namespace fastgpu::provision {

/// The path of a node's data disk.
constexpr std::string_view kDataPath = "/data";

using state::DataDisk;
using state::Mount;
using state::parse_data_disk;
using state::parse_mount;

/// The storage of every node of a cluster.
struct Storage {
  bool has_data_disk = false;
  std::vector<Mount> mounts{};
  std::string nfs_options{};  ///< Options of all mounts, in the form of mount(8): "vers=3,nolock".
  bool is_empty() const noexcept { return !has_data_disk && mounts.empty(); }
};

/// Throws ErrorKind::usage if two mounts or disks would be at one path, or one below another.
void check_storage(const Storage& storage);

/// Returns the line of /etc/fstab that mounts an export after a restart and never blocks a boot.
/// The option x-fastgpu, which mount(8) ignores, marks our lines.
std::string fstab_line(const Mount& mount, std::string_view nfs_options);

}  // namespace fastgpu::provision
