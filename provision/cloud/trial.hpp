// A trial launch before anything is made.
#pragma once

#include "provision/cloud/cloud.hpp"
#include "provision/cloud/cloud_spec.hpp"

namespace fastgpu::provision::cloud {

enum class TrialOutcome : std::uint8_t {
  accepted,
  untold,  ///< The cloud decides only once there is a network.
};

/// Tries to launch a cluster's machines at its best planned place. Throws as a launch would:
/// denied, capacity, or not_found for an image, a key pair or a network.
TrialOutcome try_best_place(Cloud& cloud, const CloudSpec& spec, int nodes, const Cancel& cancel);

}  // namespace fastgpu::provision::cloud
