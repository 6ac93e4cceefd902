// The prefix of environments on this node: found, made, locked, and taken away again.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "agent/protocol/environment.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// `prefix`, or where it is empty the usual one: /opt/fastgpu/envs for root, else below home.
EnvironmentPlaces places_at(const std::string& prefix);

/// Makes the prefix with its parents, 0755, at once, with a list of those that were made. Another
/// node may share the place. Throws denied or capacity, naming --prefix.
void make_prefix(const EnvironmentPlaces& places);

/// Removes the prefix with all that is in it, and the parents that make_prefix made where they are
/// empty now.
void remove_prefix(const EnvironmentPlaces& places);
/// Removes what a make_prefix or remove_prefix that was killed has left, where no environments lie.
void remove_remains(const EnvironmentPlaces& places);

/// One at a time changes what is below a prefix, be it another node that shares the place. Throws
/// conflict where another still does after so long, not_found where the place is gone.
UniqueFd lock_prefix(const EnvironmentPlaces& places, std::chrono::milliseconds patience);

/// Makes `link` lead to `target`, at once and whatever it led to before. Under the prefix's lock.
void switch_link(const std::filesystem::path& link, const std::string& target);

/// Where `link` leads; empty where it is none.
std::string link_target(const std::filesystem::path& link);

}  // namespace fastgpu::agent
