// The Python modules of an environment as bytecode.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/environments/call.hpp"

namespace fastgpu::agent {

/// Returns the path of the packages in an environment, relative to it.
std::filesystem::path packages_of(const std::string& python_version);

/// Compiles those of `files`, paths below `version`, that are modules of packages: later users may
/// not be able to write there. The bytecode names files by the environment's link to its current
/// build, so that it is the same in every build. The tests inside packages, a third of all files in
/// numpy and SciPy, are left out. Does nothing without a Python. Files that cannot be compiled are
/// left out, too: some packages have files for other Pythons. Returns the resulting files. Throws
/// interrupted if the client has gone.
std::vector<std::string> compile_modules(const std::filesystem::path& version,
                                         const std::string& python_version,
                                         const std::vector<std::string>& files,
                                         const Listener& listener);

}  // namespace fastgpu::agent
