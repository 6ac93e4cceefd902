// Directories that this user alone can change, and the removal of trees by descriptors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"

namespace fastgpu::transfer {

/// How the names of all that a copy makes for itself begin.
inline constexpr std::string_view kCopyMarker = ".fastgpu-copy-";

/// Returns true if the open directory belongs to the effective user and nobody else has any access
/// to it. What is in such a directory was put there by this user (or by root).
bool is_own_directory(int directory) noexcept;

/// Opens `name` in `parent`, following no link; empty where it is absent, no directory, or not
/// is_own_directory(). A name alone proves nothing: in a shared directory every user can make it.
UniqueFd open_own_directory(int parent, const std::string& name) noexcept;

/// Makes the directory `name` in `parent` with mode 0700 and opens it; empty where the name is
/// taken already, or was replaced before it could be opened. A file made in it must get the same
/// owner, whatever the file system calls us (a file server may map root to another user). Throws
/// denied, capacity or local; `shown` names the parent in messages.
UniqueFd make_own_directory(int parent, const std::string& name, const std::string& shown);

/// Returns a name that no other process can foresee, marked as ours.
std::string unused_name();

/// Returns the names in an open directory, without "." and "..". Throws as system_error().
std::vector<std::string> names_in_directory(int directory);

/// Removes what is in the open directory and in all below it, following no link. Best effort.
void remove_content(int directory) noexcept;

/// Removes `name` in `parent` and all below it, following no link. Best effort.
void remove_tree(int parent, const std::string& name) noexcept;

}  // namespace fastgpu::transfer
