// The variable by which a script declares that it runs the program.
#pragma once

#include "state/directory.hpp"

namespace fastgpu::cli {

inline constexpr const char* kInAutomation = "FASTGPU_IN_AUTOMATION";

/// Returns true if FASTGPU_IN_AUTOMATION is true: a script cannot answer, even if it has a
/// terminal. Throws ErrorKind::usage if its value is not a boolean.
bool is_automated(const state::Environment& environment);

}  // namespace fastgpu::cli
