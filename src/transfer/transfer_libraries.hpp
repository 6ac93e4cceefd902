// The libraries that transfer/ uses, in fastgpu and in the agent.
#pragma once

#include <map>
#include <string>

namespace fastgpu::transfer {

/// Returns the versions by name. The version of libcrypto is the one at build time.
std::map<std::string, std::string> library_versions();

}  // namespace fastgpu::transfer
