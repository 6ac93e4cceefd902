// How a machine makes its data disk usable, at each boot.
#pragma once

#include <string>
#include <vector>

namespace fastgpu::provision::cloud {

/// The words of a command for cloud-init's bootcmd. At the first boot it looks for the one disk of
/// exactly that size with nothing on it, makes a file system there and has /etc/fstab mount it by
/// its UUID at provision::kDataPath, whether or not the disk is there at later boots. A disk that
/// has anything on it is never formatted. Where it cannot, the reason lies in
/// /run/fastgpu-data-disk.
std::vector<std::string> data_disk_command(int gib);

}  // namespace fastgpu::provision::cloud
