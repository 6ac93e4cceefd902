// The state directory holds keys and pinned host keys: other accounts must have no access to it.
#pragma once

#include <filesystem>

namespace fastgpu::state {

/// Throws ErrorKind::denied unless only this account and root may change the state directory, its
/// parents, its database and the folders in it. It must be searchable, too. The error names the
/// part, its owner or mode and the remedy. A missing directory passes.
void require_private_place(const std::filesystem::path& directory);

}  // namespace fastgpu::state
