// The storage of nodes beside their system disk: a data disk of their own, and NFS exports that
// they share.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::provision {

/// The path of a node's data disk.
constexpr std::string_view kDataPath = "/data";

/// The path of an export for which no path was given.
constexpr std::string_view kSharedPath = "/fastgpu";

/// A disk that is made and removed with its node's machine.
struct DataDisk {
  int gib = 0;         ///< The size; 0: none.
  std::string type{};  ///< The cloud's name of the type; empty: the usual one.
  friend bool operator==(const DataDisk&, const DataDisk&) = default;
};

/// Parses "500", "500:gp3". Throws ErrorKind::usage.
DataDisk parse_data_disk(std::string_view text);
std::string to_text(const DataDisk& disk);  ///< Returns text for parse_data_disk; empty: none.

/// An NFS export, and its path on every node. Input from users and records becomes one only through
/// parse_mount. Neither part can be mistaken for an option, or for a further word in a line of
/// fstab.
struct Mount {
  std::string source{};  ///< "fs-1.efs.us-east-1.amazonaws.com:/models"
  std::string path{};    ///< "/fastgpu"
  friend bool operator==(const Mount&, const Mount&) = default;
};

/// Parses "ADDRESS:/EXPORT[=/PATH]". Throws ErrorKind::usage, naming the invalid part.
Mount parse_mount(std::string_view text);
std::string to_text(const Mount& mount);  ///< Returns text for parse_mount, with its path.

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
