// The machines of a cluster, as its cloud lists them, and the waits until it lists them so.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "provision/cloud/cloud.hpp"
#include "provision/polling.hpp"
#include "state/model.hpp"

namespace fastgpu::provision::cloud {

/// The timeout for a cloud that has promised a machine and does not list it yet.
constexpr std::chrono::seconds kListingTimeout{15};

/// Returns the cluster's machines in the regions of all its planned places.
std::vector<Machine> machines_of(Cloud& cloud, const state::Cluster& cluster, const Cancel& cancel);

/// Returns the same, and the machines that the cloud still lists although they are gone.
std::vector<Machine> machines_and_ended_of(Cloud& cloud, const state::Cluster& cluster,
                                           const Cancel& cancel);

/// Writes the cluster's name on its machines that carry an earlier one.
void write_name(Cloud& cloud, const state::Cluster& cluster, const Cancel& cancel);

/// Waits until the next poll. Throws timeout once a cloud has taken more than 10 minutes.
void pause_for(Polling& polling, const Cancel& cancel, const std::string& doing);

}  // namespace fastgpu::provision::cloud
