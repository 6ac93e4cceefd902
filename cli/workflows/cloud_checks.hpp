// A check of the clouds' credentials on this machine, for `doctor`.
#pragma once

#include <vector>

#include "cli/workflows/machine_checks.hpp"
#include "cli/workflows/services.hpp"

namespace fastgpu::cli {

/// Returns one check for each cloud with credentials: whether the cloud accepts them, and for which
/// account. Returns a single check if no cloud has credentials. A check never has the
/// verdict `fail`, because local clusters need no cloud. Takes a few seconds at most. Throws only
/// ErrorKind::interrupted.
std::vector<Check> examine_clouds(Services& services);

}  // namespace fastgpu::cli
