// Makes an environment the default of logins by lines in a shell's startup file. Removal restores
// the file.
#pragma once

#include "agent/environments/place.hpp"

namespace fastgpu::agent {

/// Makes logins use the prefix's active environment. Idempotent. Throws denied or capacity.
void add_login_lines(const EnvironmentPlaces& places);
/// Removes the lines from every file that may have them.
void remove_login_lines(const EnvironmentPlaces& places);

}  // namespace fastgpu::agent
