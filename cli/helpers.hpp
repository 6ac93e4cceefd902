// The programs that come with fastgpu: where they lie beside it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

/// "fastgpu-agent", "fastgpu-comm-bench", "fastgpu-node-init", the library "libfastgpu_comm.so.0",
/// or a file of what environments get beside it, "fastgpu_comm/__init__.py" or "digits.py": in
/// ../libexec/fastgpu, ../lib or ../share of an installation, or in the tree of a build. Throws
/// ErrorKind::local, naming the places, where it is in neither, and denied as
/// require_trusted_helper does.
std::filesystem::path find_helper(std::string_view name);
/// Finds what not every build has, as find_helper does; absent where there is none.
std::optional<std::filesystem::path> seek_helper(std::string_view name);

/// Throws ErrorKind::denied, naming the part and what to do, if an account other than root and
/// `owners` may change the file or what leads to it.
void require_trusted_helper(const std::filesystem::path& file, const std::vector<uid_t>& owners);

}  // namespace fastgpu::cli
