// The programs and files that are installed with fastgpu.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

/// Returns the path of a helper: "fastgpu-agent", "fastgpu-comm-bench", "fastgpu-node-init", the
/// library "libfastgpu_comm.so.0", or a file for environments such as "fastgpu_comm/__init__.py" or
/// "digits.py". Searches ../libexec/fastgpu, ../lib and ../share of an installation, and the tree
/// of a build. Throws ErrorKind::local, naming the places, if the helper is in none of them. Throws
/// ErrorKind::denied as require_trusted_helper() does.
std::filesystem::path find_helper(std::string_view name);
/// Returns the path of a helper that not every build has; absent if it is missing.
std::optional<std::filesystem::path> seek_helper(std::string_view name);

/// Throws ErrorKind::denied, with the path and a remedy, if an account other than root and `owners`
/// may change the file or a folder above it.
void require_trusted_helper(const std::filesystem::path& file, const std::vector<uid_t>& owners);

}  // namespace fastgpu::cli
