// The user's names of the nodes of a job, on its first node.
#pragma once

#include <filesystem>
#include <string>

namespace fastgpu::agent {

/// Returns the user's name of the node that launchers call `name`; `name` itself if the job's
/// directory does not have it.
std::string node_name(const std::filesystem::path& job_directory, const std::string& name);

}  // namespace fastgpu::agent
