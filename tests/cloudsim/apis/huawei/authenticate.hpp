// Checks the signature of requests to Huawei Cloud (SDK-HMAC-SHA256).
#pragma once

#include "cloudsim/vendor_api.hpp"

namespace fastgpu::cloudsim::huawei {

const Account& authenticate(const Call& call, const SimulatedWorld& world);

}  // namespace fastgpu::cloudsim::huawei
