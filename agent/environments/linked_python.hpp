// The Python of this node that an environment uses, where it brings none of its own.
#pragma once

#include <filesystem>

namespace fastgpu::agent {

/// Throws not_found where it is not there, conflict where it is another one than the build in
/// `version` was made with. Of one whose name tells its version nothing is started.
void check_linked_python(const std::filesystem::path& version);

}  // namespace fastgpu::agent
