// requirements.txt, as far as fastgpu supports it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/secret.hpp"

namespace fastgpu::envs {

struct RequirementsFile {
  std::vector<std::string> packages;  ///< Lines with hashes, without comments.
  std::vector<Secret> index;          ///< Addresses in pip's order; may have passwords.
};

/// Returns the text of a file; absent if it is missing.
using ReadFile = std::function<std::optional<std::string>(const std::filesystem::path& file)>;

/// Reads the file, and those that it names by -r. Throws ErrorKind::usage with the file and the
/// line for unsupported lines: other options of pip, packages from a repository or a directory;
/// not_found for a missing file.
RequirementsFile read_requirements(const std::filesystem::path& file, const ReadFile& read);

/// Returns the equivalent env.yaml, with the packages under `key`.
std::string to_yaml(const RequirementsFile& requirements, const char* key);

}  // namespace fastgpu::envs
