// The parameter files of Open MPI on this node.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// Returns the settings in such a file as "NAME=VALUE".
std::vector<std::string> parse_mpi_parameters(std::string_view text);

/// Returns the settings of the user's file in `home` and of that of the installation with this
/// `mpirun`. Those of the user win. `root` is the root directory.
std::vector<std::string> mpi_parameters(const std::filesystem::path& home,
                                        const std::filesystem::path& mpirun,
                                        const std::filesystem::path& root);

}  // namespace fastgpu::agent
