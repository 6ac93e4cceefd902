// Who sent a request to Tencent Cloud, by TC3.
#pragma once

#include "cloudsim/face.hpp"

namespace fastgpu::cloudsim::tencent {

const Account& authenticate(const Call& call, const World& world);

}  // namespace fastgpu::cloudsim::tencent
