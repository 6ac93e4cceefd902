// Which libraries are behind remote/, ssh/ and transfer/.
#pragma once

#include <map>
#include <string>

namespace fastgpu::remote {

/// Returns the versions that run, by name.
std::map<std::string, std::string> library_versions();

}  // namespace fastgpu::remote
