// What a package manager's failure means, from its exit status and its words.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "envs/drivers/plan.hpp"
#include "ssh/client.hpp"

namespace fastgpu::envs {

/// "apt-get exited with 100: E: ...": the program without `env` and its variables, the lines that
/// say what is wrong, and the kind that they mean: conflict where another holds a lock.
Error command_failure(const Argv& argv, const ssh::Exit& exit, std::string_view said);

}  // namespace fastgpu::envs
