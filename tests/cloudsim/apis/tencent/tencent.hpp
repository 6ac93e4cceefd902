// Tencent Cloud: cvm, vpc, cbs, tag and sts, with JSON in a POST.
#pragma once

#include <memory>

#include "cloudsim/api_facts.hpp"

namespace fastgpu::cloudsim {

std::unique_ptr<Face> tencent_face(ApiFacts facts);

}  // namespace fastgpu::cloudsim
