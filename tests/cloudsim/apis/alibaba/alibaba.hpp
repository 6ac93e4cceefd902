// Alibaba Cloud: ECS, VPC and STS in the RPC style, with answers in JSON.
#pragma once

#include <memory>

#include "cloudsim/api_facts.hpp"
#include "cloudsim/face.hpp"

namespace fastgpu::cloudsim {

std::unique_ptr<Face> alibaba_face(ApiFacts facts);

}  // namespace fastgpu::cloudsim
