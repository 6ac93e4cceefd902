// The clouds' own timers, which end machines even if no fastgpu runs.
#pragma once

#include <optional>
#include <span>

#include "provision/cloud/cloud.hpp"

namespace fastgpu::provision::cloud {

/// Sets the time at which the cloud ends the machines of `nodes`, or removes it if `when` is
/// absent. Nodes without a machine are left out. Returns the time that the timers have now: the
/// nearest that the cloud accepts. For a cloud without timers, see Cloud::release_at. Throws
/// conflict if another owner than `owner` has taken the cluster over, because its guards are that
/// owner's.
std::optional<state::TimePoint> set_timers(Cloud& cloud, const std::string& owner,
                                           const state::Cluster& cluster,
                                           std::span<const state::Node> nodes,
                                           std::optional<state::TimePoint> when,
                                           const Cancel& cancel);

/// Returns the time at which the cloud will end machines whose requested end is `when`.
state::TimePoint held_end(const Cloud& cloud, state::TimePoint when);

}  // namespace fastgpu::provision::cloud
