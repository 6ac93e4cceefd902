// The standard streams of this process, for the programs that it starts.
#pragma once

#include "base/unique_fd.hpp"

namespace fastgpu::cli {

/// Returns the descriptor of the standard error stream.
int errors_descriptor() noexcept;

/// Returns a descriptor of the standard output, which leads nowhere afterwards. Throws the error of
/// the system if that fails.
UniqueFd leave_output();

}  // namespace fastgpu::cli
