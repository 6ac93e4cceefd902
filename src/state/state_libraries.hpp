// The libraries that state/ uses.
#pragma once

#include <map>
#include <string>

namespace fastgpu::state {

/// Returns the versions of the loaded libraries, by name.
std::map<std::string, std::string> library_versions();

}  // namespace fastgpu::state
