// conda's environment.yml, as far as fastgpu supports it.
#pragma once

#include <filesystem>
#include <string>

#include "config/document.hpp"
#include "envs/environments/requirements_file.hpp"

namespace fastgpu::envs {

/// Returns true for a document with `dependencies`, which env.yaml calls packages.
bool is_conda_file(const config::Document& document);

/// Returns the equivalent env.yaml. Dependencies are conda packages, and a list `pip` has wheels
/// beside them. If conda names only python, pip, setuptools and wheel, it is an environment of
/// wheels alone. `file` is the document's path: files that the list names by -r are beside it.
/// Throws ErrorKind::usage with line and column for unsupported parts, and as read_requirements.
std::string conda_file_as_yaml(const config::Document& document, const std::filesystem::path& file,
                               const ReadFile& read);

}  // namespace fastgpu::envs
