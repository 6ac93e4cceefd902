#include "agent/shell_level.hpp"

#include "base/numbers.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {

void enter_shell(std::vector<std::string>& environment) {
  const auto level = process::variable(environment, "SHLVL");
  if (to_number<int>(level.value_or("0")).value_or(0) < 1)
    process::set_variable(environment, "SHLVL=1");
}

}  // namespace fastgpu::agent
