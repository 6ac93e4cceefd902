// Directories that this user alone can change, and the removal of trees by descriptors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"

namespace fastgpu::transfer {

/// The beginning of every name that a copy makes for itself.
inline constexpr std::string_view kCopyMarker = ".fastgpu-copy-";

/// Returns true if the open directory belongs to the effective user and other users have no access
/// to it. The content of such a directory comes from this user (or from root).
bool is_own_directory(int directory) noexcept;

/// Opens `name` in `parent`, following no link. Empty if it is absent, not a directory, or not
/// is_own_directory(). A name alone proves nothing: in a shared directory every user can make it.
UniqueFd open_own_directory(int parent, const std::string& name) noexcept;

/// Makes the directory `name` in `parent` with mode 0700 and opens it. Empty if the name is taken
/// already, or was replaced before it could be opened. A file made in it must get the same owner,
/// whatever owner the file system gives us (a file server may map root to another user). Throws
/// denied, capacity or local; `shown` names the parent in messages.
UniqueFd make_own_directory(int parent, const std::string& name, const std::string& shown);

/// Returns a name that no other process can predict, with our mark.
std::string unused_name();

/// Returns the names in an open directory, without "." and "..". Throws as system_error().
std::vector<std::string> names_in_directory(int directory);

/// Removes the content of the open directory and of all directories below it, following no link.
/// Best effort.
void remove_content(int directory) noexcept;

/// Removes `name` in `parent` and all below it, following no link. Best effort.
void remove_tree(int parent, const std::string& name) noexcept;

}  // namespace fastgpu::transfer
