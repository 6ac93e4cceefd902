// Warns of the entries that a copy has left out.
#pragma once

#include <cstddef>
#include <span>

#include "base/host_result.hpp"
#include "cli/program/context.hpp"
#include "remote/copy_options.hpp"

namespace fastgpu::cli {

/// Warns of each file that disappeared before it could be copied, and of the pipes, sockets and
/// devices, and names fastgpu's own directories that stay here. Returns the number of files that
/// disappeared.
std::size_t warn_of_not_copied(Context& context,
                               std::span<const HostResult<remote::Copied>> results);

}  // namespace fastgpu::cli
