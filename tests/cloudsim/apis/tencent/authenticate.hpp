// Checks the signature of requests to Tencent Cloud (TC3).
#pragma once

#include "cloudsim/vendor_api.hpp"

namespace fastgpu::cloudsim::tencent {

const Account& authenticate(const Call& call, const SimulatedWorld& world);

}  // namespace fastgpu::cloudsim::tencent
