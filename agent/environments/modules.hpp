// The Python modules of an environment as bytecode.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/environments/call.hpp"

namespace fastgpu::agent {

/// Where packages lie in an environment, relative to it.
std::filesystem::path packages_of(const std::string& python_version);

/// Compiles those of `files`, paths below `version`, that are modules of packages, for whoever runs
/// them later may not write there, with names of files as they are by way of the environment's link
/// to its current build, the same in every build; the tests that packages bring along, a third of
/// all in numpy and SciPy, are left out. Does nothing where there is no Python. What cannot be
/// compiled is left out, too: some packages have files for other Pythons. Returns the files that
/// came of it. Throws interrupted where the listener has gone.
std::vector<std::string> compile_modules(const std::filesystem::path& version,
                                         const std::string& python_version,
                                         const std::vector<std::string>& files,
                                         const Listener& listener);

}  // namespace fastgpu::agent
