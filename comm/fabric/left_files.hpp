// The files that libfabric's provider shm leaves in shared memory when its process is killed.
#pragma once

#include <filesystem>

namespace fastgpu::comm::fabric {

/// Removes files of that provider from `folder` whose process has ended: 16 MiB each, which would
/// last until the machine restarts. A file is removed only if its name and its first bytes have one
/// process id, no process has that id, the file belongs to this user, and no process has it open or
/// mapped, not even in another PID namespace. Others are left, as is all that cannot be examined.
void remove_left_files(const std::filesystem::path& folder = "/dev/shm") noexcept;

}  // namespace fastgpu::comm::fabric
