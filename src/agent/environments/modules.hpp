// Compiles the Python modules of an environment to bytecode.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/environments/environment_call.hpp"

namespace fastgpu::agent {

/// Returns the directory of the packages in an environment, relative to it.
std::filesystem::path packages_of(const std::string& python_version);

/// Compiles the modules of packages among `files`, which are paths below `version`: later users may
/// not be able to write bytecode there. The bytecode contains paths through the link to the current
/// build, so that it is the same in every build. Skips tests inside packages (a third of all files
/// in numpy and SciPy), and files that cannot be compiled, because some packages have files for
/// other Pythons. Does nothing without a Python. Returns the resulting files. Throws interrupted if
/// the client has gone.
std::vector<std::string> compile_modules(const std::filesystem::path& version,
                                         const std::string& python_version,
                                         const std::vector<std::string>& files,
                                         const Listener& listener);

}  // namespace fastgpu::agent
