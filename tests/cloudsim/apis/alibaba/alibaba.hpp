// Alibaba Cloud: ECS, VPC and STS in the RPC style, with answers in JSON.
#pragma once

#include <memory>

#include "cloudsim/api_facts.hpp"
#include "cloudsim/vendor_api.hpp"

namespace fastgpu::cloudsim {

std::unique_ptr<VendorApi> alibaba_api(ApiFacts facts);

}  // namespace fastgpu::cloudsim
