// Reads a package manager's failures and waits from its output.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "envs/drivers/driver_plan.hpp"
#include "ssh/client.hpp"

namespace fastgpu::envs {

/// Returns "apt-get exited with 100: E: ...": the program without `env` and its variables, and the
/// lines with the reason. The kind follows from these: conflict if another process holds a lock.
Error command_failure(const Argv& argv, const ssh::Exit& exit, std::string_view said);

/// Returns the wait that a running command reports: "Could not get lock FILE. It is held by process
/// 7 (apt)". Absent if it does not wait, or its report is not complete.
std::optional<std::string> waits_for(std::string_view said);

}  // namespace fastgpu::envs
