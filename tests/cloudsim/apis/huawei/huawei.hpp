// Huawei Cloud: ecs, vpc, eip, ims, iam and bss, with JSON and paths.
#pragma once

#include <memory>

#include "cloudsim/api_facts.hpp"

namespace fastgpu::cloudsim {

std::unique_ptr<VendorApi> huawei_api(ApiFacts facts);

}  // namespace fastgpu::cloudsim
