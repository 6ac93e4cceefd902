// Files with a secret, which must be accessible only to their owner.
#pragma once

#include <string>

#include "base/unique_fd.hpp"

namespace fastgpu::cli {

/// Opens the file that `flag` names for reading. Throws ErrorKind::not_found if it cannot be
/// opened, usage if it is another user's or others may read it.
UniqueFd open_secret_file(const std::string& flag, const std::string& path);

}  // namespace fastgpu::cli
