// Files with a secret, which must be accessible only to their owner.
#pragma once

#include <string>

#include "base/unique_fd.hpp"

namespace fastgpu::cli {

/// Opens the file for reading; `flag` names it in errors. Throws ErrorKind::not_found if it cannot
/// be opened, and usage if it belongs to another user or others may read it.
UniqueFd open_secret_file(const std::string& flag, const std::string& path);

}  // namespace fastgpu::cli
