// Files with a secret, which must be their owner's alone.
#pragma once

#include <string>

#include "base/unique_fd.hpp"

namespace fastgpu::cli {

/// Opens the file that `flag` names for reading. Throws ErrorKind::not_found for one that cannot be
/// opened, usage for one that is another user's or that others may read.
UniqueFd open_secret_file(const std::string& flag, const std::string& path);

}  // namespace fastgpu::cli
