// The choice of the program that runs a call.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "comm/engine/call.hpp"
#include "comm/engine/prepared.hpp"
#include "comm/schedule/all_reduce.hpp"
#include "comm/schedule/dependencies.hpp"
#include "comm/schedule/program.hpp"
#include "comm/schedule/topology.hpp"

namespace fastgpu::comm {

/// Returns `world` with the ranks of a group alone, numbered as in the group.
Topology topology_of(std::span<const Rank> group, const Topology& world);

/// Plans an all-reduce from lengths alone; `docs/benchmarks/scale.md` has the costs of that.
SchedulePlan all_reduce_plan(const Call& call, const Topology& topology);

struct PlannedCall {
  Program program{};
  Averaging averaging = Averaging::none;
};

/// Returns the part of rank `self` in a call. All ranks of a group come to programs that fit
/// together. `direction` is set for a message, whose peer is the root of the call.
PlannedCall plan_for(const Call& call, Rank self, const Topology& topology,
                     std::optional<Direction> direction = {});

}  // namespace fastgpu::comm
