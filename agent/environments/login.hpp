// The environment that logins begin in: lines in a shell's start-up file, put there and taken out
// again so that the file is as it was.
#pragma once

#include "agent/environments/place.hpp"

namespace fastgpu::agent {

/// Logins get whatever the prefix's active environment is. Idempotent. Throws denied or capacity.
void add_login_lines(const EnvironmentPlaces& places);
/// From every file that they may be in.
void remove_login_lines(const EnvironmentPlaces& places);

}  // namespace fastgpu::agent
