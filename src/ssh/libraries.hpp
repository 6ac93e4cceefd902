// Which libraries are behind ssh/.
#pragma once

#include <map>
#include <string>

namespace fastgpu::ssh {

/// Returns the versions that run, by name.
std::map<std::string, std::string> library_versions();

}  // namespace fastgpu::ssh
