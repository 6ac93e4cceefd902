// How gradients are exchanged by default on instance types whose network is much faster than the
// one that libfastgpu_comm assumes.
#pragma once

#include <optional>
#include <string_view>

#include "base/units.hpp"
#include "provision/cloud/cloud_spec.hpp"

namespace fastgpu::provision::cloud {

struct GradientDefaults {
  Bytes bucket;  ///< FASTGPU_COMM_FUSION
  int lanes;     ///< FASTGPU_COMM_LANES
};

/// Returns the rate in Gbit/s that jobs of a cluster can use between two machines at `place`, by
/// the catalogue: that of RDMA if the cluster has it, else that of one network card. 0 if it is
/// unknown.
double usable_gbit(std::string_view cloud, const CloudSpec& spec, const Place& place);

/// Returns the defaults for a network of that rate; absent if those of the library suit it.
std::optional<GradientDefaults> gradient_defaults(double gbit);

}  // namespace fastgpu::provision::cloud
