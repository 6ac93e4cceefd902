// The libraries behind remote/, ssh/ and transfer/.
#pragma once

#include <map>
#include <string>

namespace fastgpu::remote {

/// Returns the versions in use, by name.
std::map<std::string, std::string> library_versions();

}  // namespace fastgpu::remote
