// What a package manager's failure means, and what it waits for, from its words.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "envs/drivers/plan.hpp"
#include "ssh/client.hpp"

namespace fastgpu::envs {

/// "apt-get exited with 100: E: ...": the program without `env` and its variables, the lines that
/// say what is wrong, and the kind that they mean: conflict where another holds a lock.
Error command_failure(const Argv& argv, const ssh::Exit& exit, std::string_view said);

/// What a command says, while it runs, that it waits for: "Could not get lock FILE. It is held by
/// process 7 (apt)". Absent where it waits for nothing, or has not said all of it yet.
std::optional<std::string> waits_for(std::string_view said);

}  // namespace fastgpu::envs
