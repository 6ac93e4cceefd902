// The libraries behind state/.
#pragma once

#include <map>
#include <string>

namespace fastgpu::state {

/// Returns the versions in use, by name.
std::map<std::string, std::string> library_versions();

}  // namespace fastgpu::state
