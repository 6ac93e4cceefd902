// The place of local nodes.
#pragma once

#include <filesystem>

#include "state/directory.hpp"

namespace fastgpu::cli {

/// Returns FASTGPU_LOCAL_DIR, or a folder of the state directory. Throws ErrorKind::denied if other
/// accounts may change it.
std::filesystem::path local_place(const state::Environment& environment,
                                  const std::filesystem::path& state_directory);

}  // namespace fastgpu::cli
