// What nodes have beside their system disk: a data disk of their own, and NFS exports that they
// share.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::provision {

/// Where a node has its data disk.
constexpr std::string_view kDataPath = "/data";

/// Where nodes have an export that nobody said a path for.
constexpr std::string_view kSharedPath = "/fastgpu";

/// A disk that lives and dies with its node's machine.
struct DataDisk {
  int gib = 0;         ///< 0: none.
  std::string type{};  ///< In the cloud's own word; empty: the usual one.
  friend bool operator==(const DataDisk&, const DataDisk&) = default;
};

/// "500", "500:gp3". Throws ErrorKind::usage.
DataDisk parse_data_disk(std::string_view text);
std::string to_text(const DataDisk& disk);  ///< As parse_data_disk reads it; empty: none.

/// An NFS export, and where every node has it. Only parse_mount makes them from what users and
/// records say: neither part can pass for an option, or for a further word of a line of fstab.
struct Mount {
  std::string source{};  ///< "fs-1.efs.us-east-1.amazonaws.com:/models"
  std::string path{};    ///< "/fastgpu"
  friend bool operator==(const Mount&, const Mount&) = default;
};

/// "ADDRESS:/EXPORT[=/PATH]". Throws ErrorKind::usage, naming what of it cannot be.
Mount parse_mount(std::string_view text);
std::string to_text(const Mount& mount);  ///< As parse_mount reads it, with its path.

/// What every node of a cluster is to have.
struct Storage {
  bool has_data_disk = false;
  std::vector<Mount> mounts{};
  std::string nfs_options{};  ///< Of all mounts, as mount(8) has them: "vers=3,nolock".
  bool is_empty() const noexcept { return !has_data_disk && mounts.empty(); }
};

/// Throws ErrorKind::usage where two things are to be at one path, or one below another.
void check_storage(const Storage& storage);

/// The line of /etc/fstab by which a mount comes back after a restart, and holds no boot up. The
/// option x-fastgpu, which mount(8) takes for a remark, tells ours from those of others.
std::string fstab_line(const Mount& mount, std::string_view nfs_options);

}  // namespace fastgpu::provision
