// Checks that other accounts have no access to the state directory, because it has keys and pinned
// host keys.
#pragma once

#include <filesystem>

#include "base/chosen_place.hpp"

namespace fastgpu::state {

/// Returns the state directory, with the flag by which another one is chosen.
ChosenPlace state_place(const std::filesystem::path& directory);

/// Throws ErrorKind::denied if an account other than this one and root can change the state
/// directory, its parents, its database or the folders in it, or if the directory cannot be
/// searched; usage if it cannot be a directory. The error names the part, its owner or mode, and
/// the remedy. A missing directory is accepted.
void require_private_place(const std::filesystem::path& directory);

/// Does the same for another place, such as that of local nodes.
void require_private_place(const ChosenPlace& place);

}  // namespace fastgpu::state
