// The libraries behind transfer/, in fastgpu and in the agent.
#pragma once

#include <map>
#include <string>

namespace fastgpu::transfer {

/// Returns the versions by name, libcrypto's as of the build.
std::map<std::string, std::string> library_versions();

}  // namespace fastgpu::transfer
