#include "launcher/users_command.hpp"

#include "agent/protocol/environment.hpp"

namespace fastgpu::launcher {

std::span<const std::string> users_command(std::span<const std::string> argv) {
  return environment_in(argv).empty() ? argv : argv.subspan(1);
}

std::string environment_in(std::span<const std::string> argv) {
  return argv.size() < 2 ? "" : agent::environment_of_runner(argv.front());
}

}  // namespace fastgpu::launcher
