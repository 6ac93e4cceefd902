// The prefix of environments on this node: found, made, locked, and removed.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "agent/protocol/environment.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// Returns the places at `prefix`, or, if it is empty, at the default one: /opt/fastgpu/envs for
/// root, else below home.
EnvironmentPlaces places_at(const std::string& prefix);

/// Makes the prefix with its parents, 0755, at once, with a list of the new directories. Another
/// node may share the place. Throws denied or capacity, naming --prefix.
void make_prefix(const EnvironmentPlaces& places);

/// Removes the prefix with its content, and the parents that make_prefix made if they are empty
/// now.
void remove_prefix(const EnvironmentPlaces& places);
/// Removes the leftovers of a killed make_prefix or remove_prefix, without environments.
void remove_remains(const EnvironmentPlaces& places);

/// Locks the prefix against other changes, also from another node that shares the place. Throws
/// conflict if the lock is still held after `patience`, not_found if the place is gone.
UniqueFd lock_prefix(const EnvironmentPlaces& places, std::chrono::milliseconds patience);

/// Makes `link` lead to `target`, atomically and whatever its earlier target. Requires the prefix's
/// lock.
void switch_link(const std::filesystem::path& link, const std::string& target);

/// Returns the target of `link`; empty if it is not a link.
std::string link_target(const std::filesystem::path& link);

}  // namespace fastgpu::agent
