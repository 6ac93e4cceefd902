#include "launcher/users_command.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "agent/protocol/environment.hpp"

namespace fastgpu::launcher {
namespace {

using Words = std::vector<std::string>;

Words command_of(const Words& argv) {
  const auto own = users_command(argv);
  return {own.begin(), own.end()};
}

TEST_SUITE_BEGIN("launcher/users_command");

TEST_CASE("the program of an environment is no part of the command that it runs") {
  const agent::EnvironmentPlaces places{"/opt/fastgpu/envs"};
  const std::string runner = agent::runner_of(places.current("train")).string();
  CHECK(runner == "/opt/fastgpu/envs/train/current/.fastgpu/run");
  const Words argv = {runner, "python", "train.py"};
  CHECK(command_of(argv) == Words{"python", "train.py"});
  CHECK(environment_in(argv) == "train");
  const Words of_torchrun = {runner,     "sh",
                             "-c",       R"(PET_MASTER_PORT=$MASTER_PORT exec torchrun "$@")",
                             "torchrun", "train.py"};
  CHECK(command_of(of_torchrun) == Words{"torchrun", "train.py"});
  CHECK(environment_in(of_torchrun) == "train");
  CHECK(environment_in(Words{agent::runner_of(places.version("train", "0a1b")).string(), "x"}) ==
        "train");
}

TEST_CASE("any other command is shown as it is") {
  for (const Words& argv :
       {Words{"python", "train.py"}, Words{"./run", "x"}, Words{"run"}, Words{"/x/.fastgpu/run"},
        Words{"/.fastgpu/run", "x"}, Words{"a/current/.fastgpu/run", "x"},
        Words{"sh", "-c", "exec torchrun \"$@\"", "x"}, Words{"sh", "-c", "true"},
        Words{"/a/b/.fastgpu/runs", "x"}, Words{"/opt/envs/train/current/.fastgpu/run"}, Words{}}) {
    CHECK(command_of(argv) == argv);
    CHECK(environment_in(argv).empty());
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
