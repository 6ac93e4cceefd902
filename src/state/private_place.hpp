// The state directory holds keys and pinned host keys: it must be out of reach of other accounts.
#pragma once

#include <filesystem>

namespace fastgpu::state {

/// Throws ErrorKind::denied, naming the part, its owner or mode and what to do, if another account
/// than this one and root may change the state directory, what leads to it, its database or the
/// folders in it, or if it may not be searched. Fine for one that does not exist yet.
void require_private_place(const std::filesystem::path& directory);

}  // namespace fastgpu::state
