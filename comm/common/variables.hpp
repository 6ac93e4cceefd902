// The variables of the environment that the library reads, by name.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace fastgpu::comm {

/// Returns the names of all variables of this process.
std::vector<std::string> process_variables();

/// Throws ErrorKind::usage for a name that begins with FASTGPU_COMM_ and is unknown, with the
/// nearest known one. It has been mistyped, or is another version's, and would have no effect.
void check_variables(std::span<const std::string> names);

}  // namespace fastgpu::comm
