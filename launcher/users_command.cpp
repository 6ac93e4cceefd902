#include "launcher/users_command.hpp"

#include "agent/protocol/environment.hpp"
#include "launcher/engines/torchrun.hpp"

namespace fastgpu::launcher {

std::span<const std::string> users_command(std::span<const std::string> argv) {
  const auto of_torchrun = torchrun_words(argv);
  if (!of_torchrun.empty()) return of_torchrun;
  return environment_in(argv).empty() ? argv : argv.subspan(1);
}

std::string environment_in(std::span<const std::string> argv) {
  return argv.size() < 2 ? "" : agent::environment_of_runner(argv.front());
}

}  // namespace fastgpu::launcher
