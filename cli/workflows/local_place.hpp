// The directory of local nodes.
#pragma once

#include <filesystem>

#include "state/directory.hpp"

namespace fastgpu::cli {

/// Returns FASTGPU_LOCAL_DIR, or else a folder in the state directory. Throws ErrorKind::denied if
/// other accounts may change it.
std::filesystem::path local_place(const state::Environment& environment,
                                  const std::filesystem::path& state_directory);

}  // namespace fastgpu::cli
