// The clouds' own timers, which end machines when nobody does.
#pragma once

#include <optional>
#include <span>

#include "provision/cloud/cloud.hpp"

namespace fastgpu::provision::cloud {

/// Has the cloud end the machines of `nodes` at that time, or at none; nodes without a machine are
/// passed over. Returns the time that the timers have from then on: the nearest that the cloud
/// takes. Where it has no timers this is what Cloud::release_at makes of it. Throws conflict where
/// another than `owner` has taken the cluster over: its guards are not ours to say.
std::optional<state::TimePoint> set_timers(Cloud& cloud, const std::string& owner,
                                           const state::Cluster& cluster,
                                           std::span<const state::Node> nodes,
                                           std::optional<state::TimePoint> when,
                                           const Cancel& cancel);

/// Returns when the cloud will end machines that were wished to end at `when`.
state::TimePoint held_end(const Cloud& cloud, state::TimePoint when);

}  // namespace fastgpu::provision::cloud
