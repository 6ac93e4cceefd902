// AWS: EC2 and sts in the query protocol; ssm, servicequotas and pricing in JSON.
#pragma once

#include <memory>

#include "cloudsim/api_facts.hpp"
#include "cloudsim/vendor_api.hpp"

namespace fastgpu::cloudsim {

std::unique_ptr<VendorApi> aws_api(ApiFacts facts);

}  // namespace fastgpu::cloudsim
