// A Python that came to this node as an archive, beside which it is unpacked once.
#pragma once

#include <filesystem>

#include "agent/environments/call.hpp"

namespace fastgpu::agent {

/// Returns the directory with the content of the archive's folder "python". It appears at once,
/// with any number of callers at the same time, and after killed ones. Throws remote for an archive
/// without python/bin/python3; as output_of.
std::filesystem::path unpacked_python(const std::filesystem::path& archive, Listener& listener);

/// Returns the interpreter in it, or in a copy of it.
std::filesystem::path interpreter_in(const std::filesystem::path& python);

}  // namespace fastgpu::agent
