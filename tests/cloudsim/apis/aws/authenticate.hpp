// Checks the signature of requests to AWS (SigV4).
#pragma once

#include "cloudsim/vendor_api.hpp"

namespace fastgpu::cloudsim::aws {

/// Returns the account that sent the request. Throws Refusal with the service's error code.
const Account& authenticate(const Call& call, const SimulatedWorld& world);

}  // namespace fastgpu::cloudsim::aws
