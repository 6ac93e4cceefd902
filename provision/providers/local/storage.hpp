// The place on a disk that can carry the nodes' overlays: the root folder, or another one found.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "provision/providers/local/config.hpp"

namespace fastgpu::provision::local {

/// The eight digits that this root folder's bridges and processes carry, or absent where nothing
/// has ever been made here.
std::optional<std::string> find_root_id(const LocalConfig& config);

/// Where the clusters' folders are, or absent where nothing has ever been made here.
std::optional<std::filesystem::path> find_storage(const LocalConfig& config);

/// Makes the root folder with its mark where they are missing, and the id.
std::string make_root_id(const LocalConfig& config);

/// Finds a place by mounting an overlay there, once, and remembers it. Throws ErrorKind::local,
/// naming FASTGPU_LOCAL_DIR, where no file system of this machine can carry one.
std::filesystem::path choose_storage(const LocalConfig& config);

/// Removes what choose_storage made outside the root folder, once no cluster is left there.
void release_storage(const LocalConfig& config);

}  // namespace fastgpu::provision::local
