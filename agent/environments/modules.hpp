// The Python modules of an environment as bytecode.
#pragma once

#include <filesystem>
#include <string>

#include "agent/environments/call.hpp"

namespace fastgpu::agent {

/// Compiles what packages have installed in `version`, for whoever runs it later may not write
/// there, with names of files as they are by way of the environment's link to its current build,
/// the same in every build; the tests that they bring along, a third of all in numpy and SciPy, are
/// left out. Does nothing where there is no Python. What cannot be compiled is left out, too: some
/// packages have files for other Pythons. Throws interrupted where the listener has gone.
void compile_modules(const std::filesystem::path& version, const std::string& python_version,
                     const Listener& listener);

}  // namespace fastgpu::agent
