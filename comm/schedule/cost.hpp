// Closed forms of the time of plans on a network: coarse, and quick enough to compare them all.
#pragma once

#include "comm/schedule/all_reduce.hpp"
#include "comm/schedule/choice.hpp"
#include "comm/schedule/network_model.hpp"

namespace fastgpu::comm {

/// Returns the predicted time, in the terms of Thakur, Rabenseifner and Gropp 2005. Three things
/// are added: ranks of a node share its link, flows are capped, and pieces hide reductions behind
/// transfers. Ranks of a node are taken to follow each other, and all nodes to be as large as the
/// largest.
Seconds predicted(const Choice& choice, const SchedulePlan& plan, const Topology& topology,
                  const NetworkModel& network);

}  // namespace fastgpu::comm
