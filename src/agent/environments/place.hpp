// The prefix of environments on this node: how to find, create, lock and remove it.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "agent/protocol/environment.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// Returns the places below `prefix`. If that is empty, uses the default prefix: /opt/fastgpu/envs
/// for root, and a directory in the home directory for other users.
EnvironmentPlaces places_at(const std::string& prefix);

/// Creates the prefix and its parents with mode 0755, together with a list of the new directories.
/// All of them appear at once, because another node may share the place. Throws denied or capacity,
/// naming --prefix.
void make_prefix(const EnvironmentPlaces& places);

/// Returns true if `directory` is an environment, and not a directory of the user beside them. An
/// environment has a link to its current build, or a build, which may be incomplete.
bool is_environment(const std::filesystem::path& directory);

/// Removes the prefix with its content. If the directory existed before make_prefix(), removes only
/// environments and our own files from it. Also removes the parents that make_prefix() has created,
/// if they are empty.
void remove_prefix(const EnvironmentPlaces& places);
/// Removes what a killed make_prefix() or remove_prefix() has left. It never contains environments.
void remove_remains(const EnvironmentPlaces& places);

/// Locks the prefix against changes by other processes, also on other nodes that share the place.
/// Throws conflict if the lock is not free after `timeout`, and not_found if the place is gone.
UniqueFd lock_prefix(const EnvironmentPlaces& places, std::chrono::milliseconds timeout);

/// Makes `link` refer to `target`, atomically, and even if it is another link now. The caller must
/// hold the prefix's lock.
void switch_link(const std::filesystem::path& link, const std::string& target);

/// Returns the target of `link`; "" if it is not a link.
std::string link_target(const std::filesystem::path& link);

}  // namespace fastgpu::agent
