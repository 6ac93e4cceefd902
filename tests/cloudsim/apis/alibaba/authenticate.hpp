// Checks the signature of requests to Alibaba Cloud (ACS3).
#pragma once

#include <set>
#include <string>

#include "cloudsim/vendor_api.hpp"

namespace fastgpu::cloudsim::alibaba {

/// Returns the account that sent the request. Throws Refusal. A nonce is valid only once; `used`
/// has the earlier ones.
const Account& authenticate(const Call& call, const SimulatedWorld& world,
                            std::set<std::string>& used);

}  // namespace fastgpu::cloudsim::alibaba
