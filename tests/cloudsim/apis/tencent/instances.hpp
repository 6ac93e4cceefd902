// Instances in the form of CVM's answers.
#pragma once

#include "cloudsim/apis/tencent/call.hpp"

namespace fastgpu::cloudsim::tencent {

Json shape_instance(const TencentCall& call, const Instance& instance);

/// Sets the timer that terminates an instance. ActionTime must be at least five minutes ahead.
void set_timer(const TencentCall& call, const Json& timer, std::optional<Time>& target);

}  // namespace fastgpu::cloudsim::tencent
