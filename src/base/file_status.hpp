// Whether a path exists. A path that cannot be examined is an error, not a missing file.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>

namespace fastgpu {

/// Returns the status of the file at `path`, following links; absent if it does not exist. Throws
/// system_error if that is unknown, for example because a directory may not be searched.
std::optional<struct stat> find_status(const std::filesystem::path& path);

/// Returns true if `path` exists. Throws as find_status() does. In such cases
/// std::filesystem::exists returns false or throws another exception.
bool path_exists(const std::filesystem::path& path);

}  // namespace fastgpu
