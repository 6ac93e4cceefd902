// Wheels that are files on this machine: pinned by their SHA-256, and brought to the node that
// solves and builds.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "envs/environments/installation_request.hpp"

namespace fastgpu::envs {

/// A wheel that a spec names. All strings are as the spec has them.
struct LocalWheel {
  std::string project;
  std::string path;  ///< Relative to the folder of the file that names it, or absolute.
  std::string sha256;
};

/// Writes the lines of a spec that name wheels here as "foo @ file:dist/foo-1.0-py3-none-any.whl
/// --hash=sha256:...", with the sums that these have now. Relative paths begin at `folder`. Throws
/// not_found for a wheel that is not there, and usage for one with another sum than its line
/// allows.
void pin_local_wheels(EnvironmentSpec& spec, const std::filesystem::path& folder);

/// Returns the wheels of a pinned spec.
std::vector<LocalWheel> local_wheels(const EnvironmentSpec& spec);

/// Returns the wheel's address below `places` as builders read it: "file:///...".
std::string address_of(const LocalWheel& wheel, const EnvironmentSpec& spec,
                       const agent::EnvironmentPlaces& places);

/// Sends the wheels of a spec to a node that lacks them. Throws, before anything is sent, not_found
/// for one that is missing here, and conflict for one that has changed since it was pinned.
void put_wheels(const NodeAccess& access, const ssh::Host& host, const InstallationRequest& request,
                const EnvironmentSpec& spec, const agent::EnvironmentStatus& status);
/// Copies the wheels of a spec to their places on this machine. Throws as put_wheels.
void lay_out_wheels(const EnvironmentSpec& spec, const agent::EnvironmentPlaces& places);

}  // namespace fastgpu::envs
