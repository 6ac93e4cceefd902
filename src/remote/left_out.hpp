// Excludes entries from the copy of a directory by its .fastgpuignore.
#pragma once

#include <filesystem>

#include "transfer/tree_sender.hpp"

namespace fastgpu::remote {

/// Returns the rules of the file .fastgpuignore in the directory; empty without such a file. Throws
/// ErrorKind::usage for a file that is not regular or is larger than 1 MiB, and denied if it cannot
/// be read.
transfer::LeftOut left_out_of(const std::filesystem::path& directory);

}  // namespace fastgpu::remote
