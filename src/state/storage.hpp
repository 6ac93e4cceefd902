// The storage that a user requests for nodes: a data disk of each node, and NFS exports that all
// nodes share.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::state {

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

}  // namespace fastgpu::state
