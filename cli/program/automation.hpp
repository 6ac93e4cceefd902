// The user's word that a script runs the program.
#pragma once

#include "state/directory.hpp"

namespace fastgpu::cli {

inline constexpr const char* kInAutomation = "FASTGPU_IN_AUTOMATION";

/// Returns true if a script runs this, which cannot answer although it may have a terminal. Throws
/// ErrorKind::usage for a value that is no boolean.
bool is_automated(const state::Environment& environment);

}  // namespace fastgpu::cli
