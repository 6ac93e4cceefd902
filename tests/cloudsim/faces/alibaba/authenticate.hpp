// Who sent a request to Alibaba Cloud, by ACS3.
#pragma once

#include <set>
#include <string>

#include "cloudsim/face.hpp"

namespace fastgpu::cloudsim::alibaba {

/// Throws Refusal. A nonce is good once: `used` are those that came before.
const Account& authenticate(const Call& call, const World& world, std::set<std::string>& used);

}  // namespace fastgpu::cloudsim::alibaba
