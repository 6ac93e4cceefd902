// Which libraries are behind state/.
#pragma once

#include <map>
#include <string>

namespace fastgpu::state {

/// Returns the versions that run, by name.
std::map<std::string, std::string> library_versions();

}  // namespace fastgpu::state
