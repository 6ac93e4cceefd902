// The programs that come with fastgpu, and their places beside it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

/// Finds "fastgpu-agent", "fastgpu-comm-bench", "fastgpu-node-init", the library
/// "libfastgpu_comm.so.0", or a file that environments get with it, "fastgpu_comm/__init__.py" or
/// "digits.py". It is in ../libexec/fastgpu, ../lib or ../share of an installation, or in the tree
/// of a build. Throws ErrorKind::local, naming the places, if it is in neither, and denied as
/// require_trusted_helper does.
std::filesystem::path find_helper(std::string_view name);
/// Finds a helper that not every build has, as find_helper does; absent if it is missing.
std::optional<std::filesystem::path> seek_helper(std::string_view name);

/// Throws ErrorKind::denied, naming the part and the remedy, if an account other than root and
/// `owners` may change the file or a folder above it.
void require_trusted_helper(const std::filesystem::path& file, const std::vector<uid_t>& owners);

}  // namespace fastgpu::cli
