// The libraries that ssh/ uses.
#pragma once

#include <map>
#include <string>

namespace fastgpu::ssh {

/// Returns the versions of the loaded libraries, by name.
std::map<std::string, std::string> library_versions();

}  // namespace fastgpu::ssh
