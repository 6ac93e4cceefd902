// The cluster that create cluster is asked for: by its flags, its file and the settings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/money.hpp"
#include "cli/commands/cluster/cloud_options.hpp"
#include "cli/commands/cluster/guard_options.hpp"
#include "cli/commands/shared/cluster_options.hpp"
#include "cli/program/context.hpp"
#include "provision/cloud/exchange_rates.hpp"
#include "provision/cluster_spec.hpp"

namespace fastgpu::cli {

struct CreateClusterOptions : ClusterOptions {
  CloudOptions cloud;
  GuardOptions guards;
  std::string provider;
  std::optional<int> nodes;
  std::optional<int> slots;
  std::string link_rate;
  std::string file;
  std::string host_file;
  std::string scheduler;
  std::vector<std::string> set;
  bool accept_host_keys = false;
  bool dry_run = false;
  bool yes = false;
  bool detach = false;
  bool keep = false;
};

/// The wanted cluster, and the plan if it is in a cloud.
struct WantedCluster {
  provision::ClusterSpec spec;
  GuardOptions guards{};
  provision::cloud::ExchangeRates rates;
  /// In the user's currency. The spec has it in the currency of the price.
  std::optional<Money> hold_cost{};
  std::optional<CloudPlan> plan{};
};

/// Returns the wanted cluster. Flags win over the file.
WantedCluster wanted_of(Context& context, const CreateClusterOptions& options);

/// Makes the plan the request: its cloud, its places, and limits in the currency of its prices.
void take_over_plan(WantedCluster& wanted);

/// Returns the price of a node per hour at the best place; absent outside clouds, or if it is
/// unknown.
std::optional<Money> price_of_a_node(const WantedCluster& wanted);

}  // namespace fastgpu::cli
