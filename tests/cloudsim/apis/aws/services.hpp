// AWS's JSON services that a launcher uses: ssm, servicequotas, pricing.
#pragma once

#include "cloudsim/vendor_api.hpp"

namespace fastgpu::cloudsim::aws {

/// Performs the request. Throws Refusal, and ProtocolViolation for an unknown action.
Json answer_json(const Call& call, const Scope& scope, SimulatedWorld& world);

}  // namespace fastgpu::cloudsim::aws
