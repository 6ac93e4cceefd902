// The level of shells in the environment of programs.
#pragma once

#include <string>
#include <vector>

namespace fastgpu::agent {

/// Lets shells among a program know that they are within another one. At level 0 bash takes itself
/// for a login by SSH, and reads ~/.bashrc, whose variables would replace those of the program.
void enter_shell(std::vector<std::string>& environment);

}  // namespace fastgpu::agent
