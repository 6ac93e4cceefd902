// AWS: EC2 and sts in the query protocol; ssm, servicequotas and pricing in JSON.
#pragma once

#include <memory>

#include "cloudsim/api_facts.hpp"
#include "cloudsim/face.hpp"

namespace fastgpu::cloudsim {

std::unique_ptr<Face> aws_face(ApiFacts facts);

}  // namespace fastgpu::cloudsim
