// Unpacks a Python that was sent to this node as an archive. It is unpacked only once, beside the
// archive.
#pragma once

#include <filesystem>

#include "agent/environments/environment_call.hpp"

namespace fastgpu::agent {

/// Returns the directory with the content of the archive's folder "python". The directory appears
/// at once, even with several simultaneous callers, and after killed ones. Throws remote for an
/// archive without python/bin/python3, and the errors of output_of().
std::filesystem::path unpacked_python(const std::filesystem::path& archive, Listener& listener);

/// Returns the interpreter in such a directory or in a copy of it.
std::filesystem::path interpreter_in(const std::filesystem::path& python);

}  // namespace fastgpu::agent
