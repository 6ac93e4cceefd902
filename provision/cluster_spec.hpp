// The request for a cluster, independent of its place.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/money.hpp"
#include "base/names.hpp"
#include "state/guards.hpp"
#include "state/provider_spec.hpp"
#include "state/scheduler.hpp"

namespace fastgpu::provision {

constexpr int kMostNodes = 10'000;
constexpr int kMostSlots = 1'024;

/// The reaction if no place has room for all nodes together.
struct GangPolicy {
  /// The least number of nodes with which a cluster may begin; 0: all.
  int least = 0;
  std::chrono::seconds longest{0};   ///< The longest time of holding some while seeking others.
  std::optional<Money> most_cost{};  ///< The maximum cost of held machines while they are idle.
};

struct ClusterSpec {
  ClusterName name;
  std::string provider = "local";
  int nodes = 1;
  int slots = 1;
  std::string user = "root";
  state::ProviderSpec provider_spec{};
  state::Guards guards{};
  state::Scheduler scheduler = state::Scheduler::none;
  GangPolicy holding{};

  int least_nodes() const { return holding.least > 0 ? holding.least : nodes; }
};

/// Throws ErrorKind::usage for an invalid name, number of nodes or slots, or user.
void check_spec(const ClusterSpec& spec);

/// Throws ErrorKind::usage unless `nodes` is 1 to kMostNodes.
void check_node_count(int nodes);

}  // namespace fastgpu::provision
