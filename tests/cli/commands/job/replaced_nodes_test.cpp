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

TEST_CASE("a stopped node is started for a job only if others of its cluster run") {
  using state::NodeState;
  const auto node = [](const char* name, NodeState state) {
    return state::Node{.name = {name}, .state = state};
  };
  const std::vector<state::Node> nodes = {node("t-0", NodeState::running),
                                          node("t-1", NodeState::stopped)};
  CHECK(stopped_alone(nodes) == std::vector<std::string>{"t-1"});
  CHECK(stopped_alone({node("t-0", NodeState::stopped), node("t-1", NodeState::stopped)}).empty());
  CHECK(stopped_alone({node("t-0", NodeState::stopped), node("t-1", NodeState::lost)}).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
