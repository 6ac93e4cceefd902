// A check of the clouds' credentials on this machine, for `doctor`.
#pragma once

#include <vector>

#include "cli/workflows/machine_checks.hpp"
#include "cli/workflows/services.hpp"

namespace fastgpu::cli {

/// Returns one check for each cloud with credentials: its acceptance of them, and their account;
/// one for all if there are none. Never fails: local clusters need no cloud. Takes at most some
/// seconds. Throws only ErrorKind::interrupted.
std::vector<Check> examine_clouds(Services& services);

}  // namespace fastgpu::cli
