// Directories that only this user can change, and the removal of trees by descriptors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"

namespace fastgpu::transfer {

/// The prefix of all names that a copy creates for itself.
inline constexpr std::string_view kCopyMarker = ".fastgpu-copy-";

/// Returns true if the open directory belongs to the effective user and other users have no access
/// to it. Then its content comes from this user (or from root).
bool is_own_directory(int directory) noexcept;

/// Opens `name` in `parent` without following a link. Empty if it is missing, is not a directory,
/// or fails is_own_directory(). The name alone proves nothing, because in a shared directory every
/// user can create it.
UniqueFd open_own_directory(int parent, const std::string& name) noexcept;

/// Creates the directory `name` in `parent` with mode 0700 and opens it. Empty if the name exists
/// already, if the directory was replaced before it could be opened, or if a file in it does not
/// get the directory's owner. Any owner is accepted, because a file server may map root to another
/// user. Throws denied, capacity or local; `shown` names the parent in messages.
UniqueFd make_own_directory(int parent, const std::string& name, const std::string& shown);

/// Returns a name with our mark that no other process can predict.
std::string unused_name();

/// Returns the names in an open directory, without "." and "..". Throws as system_error().
std::vector<std::string> names_in_directory(int directory);

/// Removes the content of the open directory recursively, without following links. Best effort.
void remove_content(int directory) noexcept;

/// Removes `name` in `parent` recursively, without following links. Best effort.
void remove_tree(int parent, const std::string& name) noexcept;

}  // namespace fastgpu::transfer
