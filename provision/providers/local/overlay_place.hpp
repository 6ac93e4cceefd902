// The place on a disk that can carry the nodes' overlays: the root folder, or another one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "provision/providers/local/config.hpp"

namespace fastgpu::provision::local {

/// Returns the eight digits in the marks of this root folder's bridges and processes; absent if
/// nothing has ever been made here.
std::optional<std::string> find_root_id(const LocalConfig& config);

/// Returns the parent of the clusters' folders; absent if nothing has ever been made here.
std::optional<std::filesystem::path> find_storage(const LocalConfig& config);

/// Makes the root folder with its mark if they are missing, and returns the id.
std::string make_root_id(const LocalConfig& config);

/// Finds a place by mounting an overlay there, once, and remembers it. Throws ErrorKind::local,
/// naming FASTGPU_LOCAL_DIR, if no file system of this machine can carry one.
std::filesystem::path choose_storage(const LocalConfig& config);

/// Removes the place that choose_storage made outside the root folder, once no cluster is left
/// there.
void release_storage(const LocalConfig& config);

}  // namespace fastgpu::provision::local
