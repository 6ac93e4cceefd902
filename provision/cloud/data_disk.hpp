// The command by which a machine makes its data disk usable, at each boot.
#pragma once

#include <string>
#include <vector>

namespace fastgpu::provision::cloud {

/// Returns the words of a command for cloud-init's bootcmd. At the first boot it looks for the one
/// empty disk of exactly that size, and makes a file system there. It has /etc/fstab mount it by
/// its UUID at provision::kDataPath, even if the disk is missing at later boots. A disk with any
/// content is never formatted. If it fails, the reason is in /run/fastgpu-data-disk.
std::vector<std::string> data_disk_command(int gib);

}  // namespace fastgpu::provision::cloud
