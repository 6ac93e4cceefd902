// The default environment of logins: lines in a shell's start-up file, which is restored on
// removal.
#pragma once

#include "agent/environments/place.hpp"

namespace fastgpu::agent {

/// Gives logins the prefix's active environment. Idempotent. Throws denied or capacity.
void add_login_lines(const EnvironmentPlaces& places);
/// Removes the lines from every file that may have them.
void remove_login_lines(const EnvironmentPlaces& places);

}  // namespace fastgpu::agent
