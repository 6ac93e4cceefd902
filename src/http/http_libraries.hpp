// The libraries that http/ uses.
#pragma once

#include <map>
#include <string>

namespace fastgpu::http {

/// Returns the versions of the loaded libraries, by name. They may be newer than at build time.
std::map<std::string, std::string> library_versions();

}  // namespace fastgpu::http
