// Wanted against found: what creating a cluster comes to, before anything is done. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "provision/cluster_spec.hpp"
#include "provision/provider.hpp"

namespace fastgpu::provision {

enum class PlanKind : std::uint8_t {
  create,     ///< Nothing is there yet.
  resume,     ///< An earlier creation died half-way; its machines are taken over.
  unchanged,  ///< It exists as it is wanted.
};

enum class StepKind : std::uint8_t { prepare, create_node, adopt_node, destroy_stray };

struct Step {
  StepKind kind = StepKind::create_node;
  int index = 0;            ///< The node's; 0 for prepare.
  NodeName name;            ///< Empty for prepare and strays.
  std::string instance_id;  ///< Of what is adopted or destroyed.
};

struct Plan {
  ClusterSpec wanted;
  PlanKind kind = PlanKind::create;
  std::vector<Step> steps;
};

/// What is there under the wanted name.
struct Found {
  std::optional<state::Cluster> cluster{};
  std::vector<state::Node> nodes{};
  std::vector<Instance> instances{};
  std::string difference{};  ///< Provider::difference of the cluster and the wish.
};

/// Throws ErrorKind::usage for a wish that cannot be, conflict where a cluster of that name exists
/// in another form, naming the way out.
Plan make_plan(const ClusterSpec& wanted, const Found& found);

/// One line a step, for people: "create node demo-0".
std::vector<std::string> describe(const Plan& plan);

/// The plan for machines: {"schema": "fastgpu/plan/v1", ...}.
nlohmann::json to_json(const Plan& plan);

/// "<cluster>-<index>".
NodeName node_name(const ClusterName& cluster, int index);

}  // namespace fastgpu::provision
