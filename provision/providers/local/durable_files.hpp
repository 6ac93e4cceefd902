// Files and folders of the local provider, written so that a kill leaves the old or the new one.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"

namespace fastgpu::provision::local {

enum class Durability { until_crash, on_disk };

/// Writes beside `path` and renames. On disk means that a power cut after the call loses nothing.
void replace_file(const std::filesystem::path& path, std::string_view text, mode_t mode,
                  Durability durability);

/// Makes the folder, open to root alone, and its parents; does nothing if it exists.
void make_private_folder(const std::filesystem::path& path);

/// Returns the names of the folders in `path`; empty if `path` is missing.
std::vector<std::string> folders_in(const std::filesystem::path& path);

/// The most folders that remove_tree has open at once.
constexpr int kDeepest = 64;

/// Deletes a whole tree of any depth, with any flags of its files, without following links.
/// Succeeds if it is missing. Has at most `deepest` folders open at once, which must be at least 2.
void remove_tree(const std::filesystem::path& path, int deepest = kDeepest);

}  // namespace fastgpu::provision::local
