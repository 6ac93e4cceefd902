// Whether a path names something. A path that may not be looked at is not a missing one.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>

namespace fastgpu {

/// Returns the status of what `path` names, links followed; absent if nothing has that name. Throws
/// system_error if that cannot be known, such as for a directory that may not be searched.
std::optional<struct stat> find_status(const std::filesystem::path& path);

/// Returns whether `path` names something. Throws as find_status does, where
/// std::filesystem::exists returns false or throws another exception.
bool path_exists(const std::filesystem::path& path);

}  // namespace fastgpu
