// The clouds' credentials on this machine, looked at for `doctor`.
#pragma once

#include <vector>

#include "cli/context.hpp"
#include "cli/doctor.hpp"

namespace fastgpu::cli {

/// One check for each cloud that there are credentials for: whether it accepts them, and whose they
/// are; one for all where there are none. Never fails: local clusters need no cloud. Takes at most
/// some seconds. Throws ErrorKind::interrupted alone.
std::vector<Check> examine_clouds(Context& context);

}  // namespace fastgpu::cli
