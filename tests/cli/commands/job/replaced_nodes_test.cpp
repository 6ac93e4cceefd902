#include "cli/commands/job/replaced_nodes.hpp"

#include <doctest/doctest.h>

namespace fastgpu::cli {
namespace {

TEST_SUITE_BEGIN("cli/replaced_nodes");

TEST_CASE("a job's environment is the one whose program starts the ranks") {
  const std::vector<std::pair<std::string, std::string>> runners = {
      {"eval", "/opt/envs/eval/run"}, {"train", "/opt/envs/train/run"}};
  CHECK(environment_of_program({"/opt/envs/train/run", "python", "train.py"}, runners) == "train");
  CHECK(environment_of_program({"python", "/opt/envs/train/run"}, runners).empty());
  CHECK(environment_of_program({}, runners).empty());
  CHECK(environment_of_program({"/opt/envs/train/run"}, {}).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
