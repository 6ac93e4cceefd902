// The Python of this node that an environment uses if it does not contain one.
#pragma once

#include <filesystem>

namespace fastgpu::agent {

/// Throws not_found if the Python is missing, and conflict if its version differs from the one with
/// which the build in `version` was made. Does not start the interpreter if its name includes its
/// version.
void check_linked_python(const std::filesystem::path& version);

}  // namespace fastgpu::agent
