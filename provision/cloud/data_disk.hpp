// The command by which a machine makes its data disk usable, at each boot.
#pragma once

#include <string>
#include <vector>

namespace fastgpu::provision::cloud {

/// Returns a command for cloud-init's bootcmd. At the first boot it looks for the only empty disk
/// of exactly that size, and makes a file system on it. /etc/fstab mounts it by its UUID at
/// provision::kDataPath, and lets the machine boot without the disk. A disk with any content is
/// never formatted. If the command fails, the reason is in /run/fastgpu-data-disk.
std::vector<std::string> data_disk_command(int gib);

}  // namespace fastgpu::provision::cloud
