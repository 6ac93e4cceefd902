// Checks that other accounts have no access to the state directory, because it has keys and pinned
// host keys.
#pragma once

#include <filesystem>

namespace fastgpu::state {

/// Throws ErrorKind::denied if an account other than this one and root can change the state
/// directory, its parents, its database or the folders in it, or if the directory cannot be
/// searched. The error names the part, its owner or mode, and the remedy. A missing directory is
/// accepted.
void require_private_place(const std::filesystem::path& directory);

}  // namespace fastgpu::state
