// Who sent a request to AWS, by SigV4.
#pragma once

#include "cloudsim/face.hpp"

namespace fastgpu::cloudsim::aws {

/// Throws Refusal with the code that the service uses for it.
const Account& authenticate(const Call& call, const World& world);

}  // namespace fastgpu::cloudsim::aws
