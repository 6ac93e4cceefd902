// Which libraries are behind http/.
#pragma once

#include <map>
#include <string>

namespace fastgpu::http {

/// Returns the versions that run, by name: what was built with may be older.
std::map<std::string, std::string> library_versions();

}  // namespace fastgpu::http
