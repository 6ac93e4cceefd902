// The existence of a path. A path that may not be looked at is not a missing one.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>

namespace fastgpu {

/// Returns the status of the file at `path`, links followed; absent if it does not exist. Throws
/// system_error if that cannot be known, such as for a directory that may not be searched.
std::optional<struct stat> find_status(const std::filesystem::path& path);

/// Returns whether `path` exists. Throws as find_status does, unlike std::filesystem::exists, which
/// then returns false or throws another exception.
bool path_exists(const std::filesystem::path& path);

}  // namespace fastgpu
