// The libraries that remote/, ssh/ and transfer/ use.
#pragma once

#include <map>
#include <string>

namespace fastgpu::remote {

/// Returns the versions of the loaded libraries, by name.
std::map<std::string, std::string> library_versions();

}  // namespace fastgpu::remote
