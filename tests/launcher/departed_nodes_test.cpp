#include "launcher/departed_nodes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace fastgpu::launcher {
namespace {

TEST_SUITE_BEGIN("launcher/departed_nodes");

TEST_CASE("a job is lost with the nodes that have left the cluster") {
  const std::vector<NodeName> nodes = {{"n-0"}, {"n-2"}};
  const JobOutcome outcome = outcome_without(nodes);
  CHECK(outcome.state == state::JobState::lost);
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.cause == JobEndCause::node_loss);
  CHECK(outcome.lost == nodes);
  CHECK(outcome.reason == "nodes n-0, n-2 are no longer in the cluster");
}

TEST_CASE("output that was on such a node is named as missing") {
  const Error error = output_missing_from(std::vector<NodeName>{{"n-1"}});
  CHECK(error.kind() == ErrorKind::not_found);
  CHECK(std::string(error.what()) ==
        "node n-1 is no longer in the cluster: the output of the ranks there is missing");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
