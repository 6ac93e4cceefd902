// Which program a call is run by.
#pragma once

#include <span>

#include "comm/call.hpp"
#include "comm/engine/prepared.hpp"
#include "comm/schedule/all_reduce.hpp"
#include "comm/schedule/program.hpp"
#include "comm/schedule/topology.hpp"

namespace fastgpu::comm {

/// Which way a message between two ranks goes.
enum class Way : std::uint8_t { none, out, in };

/// `world` with the ranks of a group alone, numbered as they stand in it.
Topology topology_of(std::span<const Rank> group, const Topology& world);

/// How an all-reduce goes, told from lengths alone: `docs/benchmarks/scale.md` has what that costs.
Plan all_reduce_plan(const Call& call, const Topology& topology);

struct Planned {
  Program program{};
  Averaging averaging = Averaging::none;
};

/// The part of rank `self` in a call. All ranks of a group come to programs that fit together.
/// `way` is that of a message, whose peer is the root of the call.
Planned plan_for(const Call& call, Rank self, const Topology& topology, Way way = Way::none);

}  // namespace fastgpu::comm
