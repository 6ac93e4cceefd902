// The machines of a plan before they are bought: their places and prices.
#pragma once

#include "cli/commands/cluster/cloud_options.hpp"
#include "cli/ui/table.hpp"

namespace fastgpu::cli {

/// Returns the plan as a table. The first row has the machines that are tried first; the others are
/// alternatives if capacity is missing. Zones of a region with the same machines and prices share
/// a row.
Table plan_table(const CloudPlan& plan, int nodes);

/// Returns the places of the plan, in order, as JSON for programs.
Json plan_json(const CloudPlan& plan, int nodes);

/// Returns the price of all nodes per hour at the best place, in the cloud's currency and in the
/// currency of the ranking, and the highest price of the alternatives. For example: "60.00 CNY/h
/// (9.02 USD/h; 1 CNY = 0.1503 USD, reference rate of 2026-10-30), at most 12.04 USD/h where that
/// has no room".
std::string plan_price(const CloudPlan& plan, int nodes);

/// Returns the plan for more machines of a cluster in a cloud: of its type, at its place, for the
/// recorded price.
CloudPlan plan_of_more(Context& context, const state::Cluster& cluster);

}  // namespace fastgpu::cli
