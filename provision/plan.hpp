// The comparison of a request with the findings: the steps of creating a cluster, before any of
// them is taken. Pure.
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
  create,     ///< No cluster exists yet.
  resume,     ///< An earlier creation died half-way; its machines are taken over.
  unchanged,  ///< The cluster exists as requested.
};

enum class PlanStepKind : std::uint8_t { prepare, create_node, adopt_node, destroy_stray };

struct PlanStep {
  PlanStepKind kind = PlanStepKind::create_node;
  int index = 0;            ///< The node's index; 0 for prepare.
  NodeName name;            ///< Empty for prepare and strays.
  std::string instance_id;  ///< The machine that is adopted or destroyed.
};

struct ClusterPlan {
  ClusterSpec wanted;
  PlanKind kind = PlanKind::create;
  std::vector<PlanStep> steps;
};

/// The findings under the requested name.
struct FoundCluster {
  std::optional<state::Cluster> cluster{};
  std::vector<state::Node> nodes{};
  std::vector<Instance> instances{};
  /// The result of Provider::difference for the cluster and the request.
  std::string difference{};
};

/// Returns the plan. Throws ErrorKind::usage for an impossible request, conflict, with a remedy, if
/// a cluster of that name exists in another form.
ClusterPlan make_plan(const ClusterSpec& wanted, const FoundCluster& found);

/// Returns one line for each step, for people: "create node demo-0".
std::vector<std::string> describe(const ClusterPlan& plan);

/// Returns the plan for machines: {"schema": "fastgpu/plan/v1", ...}.
nlohmann::json to_json(const ClusterPlan& plan);

/// Returns "<cluster>-<index>".
NodeName node_name(const ClusterName& cluster, int index);

}  // namespace fastgpu::provision
