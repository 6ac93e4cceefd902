#include "cli/commands/job/taken_machines.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace fastgpu::cli {
namespace {

using state::NodeState;

state::Node node_with_state(const std::string& name, NodeState state) {
  state::Node node;
  node.name = {name};
  node.state = state;
  return node;
}

TEST_SUITE_BEGIN("cli/taken_machines");

TEST_CASE("the nodes of the job whose machines are gone or stopped are found") {
  launcher::JobRecord record;
  for (const char* name : {"t-0", "t-1", "t-2", "t-3", "t-4"})
    record.placement.push_back({.node = {name}, .first = 0, .count = 1});
  const std::vector<state::Node> nodes = {
      node_with_state("t-0", NodeState::running),  node_with_state("t-1", NodeState::lost),
      node_with_state("t-2", NodeState::stopped),  node_with_state("t-3", NodeState::deleting),
      node_with_state("t-4", NodeState::creating), node_with_state("t-5", NodeState::lost)};
  CHECK(without_machine(nodes, record) == std::vector<NodeName>{{"t-1"}, {"t-2"}});
  CHECK(without_machine({}, record).empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
