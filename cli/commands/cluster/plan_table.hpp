// The machines of a plan before they are bought, with their places and prices.
#pragma once

#include "cli/commands/cluster/cloud_options.hpp"
#include "cli/ui/table.hpp"

namespace fastgpu::cli {

/// Returns one row for the machines that are tried first, and one for each kind that is taken
/// instead if there is no room. Equal zones of a region share a row.
Table plan_table(const CloudPlan& plan, int nodes);

/// Returns the places of the plan in order, for machines.
Json plan_json(const CloudPlan& plan, int nodes);

/// Returns the price of all nodes at the best place, in the cloud's currency and in that of the
/// ranking. It also has the highest price of the others. Example: "60.00 CNY/h (9.02 USD/h; 1 CNY =
/// 0.1503 USD, reference rate of 2026-10-30), at most 12.04 USD/h where that has no room".
std::string plan_price(const CloudPlan& plan, int nodes);

/// Returns the plan for more machines of a cluster of a cloud: of its type, at its place, at the
/// price on record.
CloudPlan plan_of_more(Context& context, const state::Cluster& cluster);

}  // namespace fastgpu::cli
