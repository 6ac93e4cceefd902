// The programs that come with fastgpu: where they lie beside it.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace fastgpu::cli {

/// "fastgpu-agent", "fastgpu-comm-bench", "fastgpu-node-init", the library "libfastgpu_comm.so.0",
/// or a file of what environments get beside it, "fastgpu_comm/__init__.py" or "digits.py": in
/// ../libexec/fastgpu, ../lib or ../share of an installation, or in the tree of a build. Throws
/// ErrorKind::local, naming the places, where it is in neither.
std::filesystem::path find_helper(std::string_view name);
/// The same, of what not every build has.
std::optional<std::filesystem::path> seek_helper(std::string_view name);

}  // namespace fastgpu::cli
