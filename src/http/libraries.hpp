// The libraries behind http/.
#pragma once

#include <map>
#include <string>

namespace fastgpu::http {

/// Returns the versions in use, by name: those of the build may be older.
std::map<std::string, std::string> library_versions();

}  // namespace fastgpu::http
