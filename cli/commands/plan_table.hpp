// What is about to be bought: the machines of a plan, where they may be, and what they cost.
#pragma once

#include "cli/commands/cloud_options.hpp"
#include "cli/ui/table.hpp"

namespace fastgpu::cli {

/// One row for the machines that are tried first, and one for each kind that is taken in their
/// place where there is no room: zones of a region that differ in nothing share a row.
Table plan_table(const CloudPlan& plan, int nodes);

/// The places of the plan in order, for machines.
Json plan_json(const CloudPlan& plan, int nodes);

/// The price of all nodes at the best place, in the cloud's currency and in that of the ranking,
/// and the highest of the others: "60.00 CNY/h (9.02 USD/h; 1 CNY = 0.1503 USD, reference rate of
/// 2026-10-30), at most 12.04 USD/h where that has no room".
std::string plan_price(const CloudPlan& plan, int nodes);

/// What more machines of a cluster of a cloud would be: of its type, where it is, at the price on
/// record.
CloudPlan plan_of_more(Context& context, const state::Cluster& cluster);

}  // namespace fastgpu::cli
