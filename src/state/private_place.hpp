// The state directory holds keys and pinned host keys: other accounts must have no access to it.
#pragma once

#include <filesystem>

namespace fastgpu::state {

/// Throws ErrorKind::denied if another account than this one and root may change the state
/// directory, its parents, its database or the folders in it, or if it may not be searched. The
/// error names the part, its owner or mode and the remedy. A missing directory passes.
void require_private_place(const std::filesystem::path& directory);

}  // namespace fastgpu::state
