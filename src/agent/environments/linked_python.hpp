// The Python of this node that an environment uses, if it has none of its own.
#pragma once

#include <filesystem>

namespace fastgpu::agent {

/// Throws not_found if it is missing, conflict if it is another one than that of the build in
/// `version`. If the interpreter's name has its version, it is not started.
void check_linked_python(const std::filesystem::path& version);

}  // namespace fastgpu::agent
