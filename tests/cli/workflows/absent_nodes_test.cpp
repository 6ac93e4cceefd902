#include "cli/workflows/absent_nodes.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "state/lock.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::cli {
namespace {

using state::ClusterState;
using state::NodeState;

std::string why_absent(ClusterState cluster, NodeState node,
                       ClusterChange change = ClusterChange::interrupted) {
  return absence_of(state::Cluster{.name = {"demo"}, .state = cluster},
                    state::Node{.name = {"demo-0"}, .state = node}, change);
}

TEST_SUITE_BEGIN("cli/absent_nodes");

TEST_CASE("a stopped or lost node is named with the command that starts or replaces it") {
  CHECK(why_absent(ClusterState::stopped, NodeState::stopped) ==
        "demo-0 is stopped: start it with: fastgpu start cluster demo");
  CHECK(why_absent(ClusterState::degraded, NodeState::lost) ==
        "demo-0 is lost: replace it with: fastgpu start cluster demo --replace-lost");
}

TEST_CASE("a cluster whose creation or deletion was interrupted is not to be started") {
  CHECK(why_absent(ClusterState::creating, NodeState::creating) ==
        "cluster 'demo' was left half-made: repeat its creation, or `fastgpu delete cluster demo`");
  CHECK(why_absent(ClusterState::deleting, NodeState::deleting) ==
        "the deletion of cluster 'demo' was interrupted: `fastgpu gc` finishes it");
  CHECK(why_absent(ClusterState::degraded, NodeState::creating) ==
        "the creation of demo-0 was interrupted: `fastgpu gc` clears it away");
  CHECK(why_absent(ClusterState::running, NodeState::deleting) ==
        "the deletion of demo-0 was interrupted: `fastgpu gc` finishes it");
}

TEST_CASE("a change that goes on in another process is to be waited for") {
  for (const ClusterState cluster :
       {ClusterState::creating, ClusterState::deleting, ClusterState::running})
    for (const NodeState node : {NodeState::creating, NodeState::deleting}) {
      const std::string why = why_absent(cluster, node, ClusterChange::in_progress);
      CAPTURE(why);
      CHECK(why.find("by another process") != std::string::npos);
      CHECK(why.find("fastgpu") == std::string::npos);
    }
}

TEST_CASE("a cluster without nodes has the same advice, and a complete one has none") {
  const auto whole = [](ClusterState state) {
    return absence_of(state::Cluster{.name = {"demo"}, .state = state}, ClusterChange::interrupted);
  };
  CHECK(whole(ClusterState::creating).find("half-made") != std::string::npos);
  CHECK(whole(ClusterState::deleting).find("fastgpu gc") != std::string::npos);
  CHECK(whole(ClusterState::running).empty());
}

TEST_CASE("a change is in progress while its lock is held") {
  const fastgpu::test::TempDirectory folder;
  const state::Store store(folder.path());
  const ClusterName name{"demo"};
  std::optional<state::ClusterLock> lock = state::ClusterLock::try_lock(store, name);
  CHECK(change_of(store, name) == ClusterChange::in_progress);
  lock.reset();
  CHECK(change_of(store, name) == ClusterChange::interrupted);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
