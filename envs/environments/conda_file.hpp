// conda's environment.yml, as far as an environment can be made of one.
#pragma once

#include <filesystem>
#include <string>

#include "config/document.hpp"
#include "envs/environments/requirements_file.hpp"

namespace fastgpu::envs {

/// Returns true for a document that has `dependencies`, which env.yaml calls packages.
bool is_conda_file(const config::Document& document);

/// Returns the same as an env.yaml. Dependencies are conda packages, unless there is a list `pip`:
/// its requirements are then all of the packages, and conda may name python, pip, setuptools and
/// wheel beside it. `file` is where the document is from: what the list names by -r is beside it.
/// Throws ErrorKind::usage with line and column for what cannot be, and as read_requirements.
std::string conda_file_as_yaml(const config::Document& document, const std::filesystem::path& file,
                               const ReadFile& read);

}  // namespace fastgpu::envs
