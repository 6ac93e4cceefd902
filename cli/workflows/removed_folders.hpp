// Ended jobs whose folders were removed from nodes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/names.hpp"
#include "cli/workflows/job_access.hpp"

namespace fastgpu::cli {

/// Returns the nodes that lack the folder of an ended job, as `e` reports; empty for other errors.
std::vector<NodeName> nodes_without_folder(const OpenJob& open, const Error& e);

/// Returns "job train-1 has ended, and its folder was removed from demo-[0-1]: the settings
/// keep-jobs (now 50) and keep-jobs-for (now 30d) limit how long it stays".
std::string text_of_removed_folder(Services& services, const OpenJob& open,
                                   std::span<const NodeName> nodes);

/// Returns an error with this text if `e` reports nodes that lack the folder of an ended job; else
/// `e`.
Error removed_or(Services& services, const OpenJob& open, const Error& e);

}  // namespace fastgpu::cli
