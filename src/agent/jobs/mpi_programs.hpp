// The search for MPI in the files of a program, before it runs.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace fastgpu::agent {

/// Returns true if a file among the words of a command names a library of MPI: a program that is
/// linked to one, or a script for mpi4py. The first word is looked for in `path` ("a:b"), and all
/// words in `directory`. Reads no more than the beginning of each file.
bool uses_mpi(std::span<const std::string> argv, const std::filesystem::path& directory,
              std::string_view path);

}  // namespace fastgpu::agent
