// The libraries behind ssh/.
#pragma once

#include <map>
#include <string>

namespace fastgpu::ssh {

/// Returns the versions in use, by name.
std::map<std::string, std::string> library_versions();

}  // namespace fastgpu::ssh
