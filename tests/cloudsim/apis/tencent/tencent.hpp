// Tencent Cloud: cvm, vpc, cbs, tag and sts, with JSON in a POST.
#pragma once

#include <memory>

#include "cloudsim/api_facts.hpp"

namespace fastgpu::cloudsim {

std::unique_ptr<VendorApi> tencent_api(ApiFacts facts);

}  // namespace fastgpu::cloudsim
