// The entries that a directory's own .fastgpuignore leaves out of a copy of it.
#pragma once

#include <filesystem>

#include "transfer/tree_sender.hpp"

namespace fastgpu::remote {

/// Returns the rules of the file .fastgpuignore in the directory; empty without one. Throws
/// ErrorKind::usage for a file that is not regular or larger than 1 MiB, and denied for one that
/// cannot be read.
transfer::LeftOut left_out_of(const std::filesystem::path& directory);

}  // namespace fastgpu::remote
