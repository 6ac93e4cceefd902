// The types of data disks, and the command by which a machine makes its disk usable at each boot.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "provision/storage.hpp"

namespace fastgpu::provision::cloud {

/// Returns a warning if the cloud's API does not name that type of disk, with the types that it
/// names; empty if it does, or if the types are unknown. The cloud decides: it may have newer
/// types.
std::string unknown_disk_type(const DataDisk& disk, std::string_view cloud);

/// Returns a command for cloud-init's bootcmd. At the first boot it looks for the only empty disk
/// of exactly that size, and makes a file system on it. /etc/fstab mounts it by its UUID at
/// provision::kDataPath, and lets the machine boot without the disk. A disk with any content is
/// never formatted. If the command fails, the reason is in /run/fastgpu-data-disk.
std::vector<std::string> data_disk_command(int gib);

}  // namespace fastgpu::provision::cloud
