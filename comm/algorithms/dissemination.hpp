// A barrier in log2(size) rounds without a centre.
#pragma once

#include "comm/call.hpp"
#include "comm/transport.hpp"

namespace fastgpu::comm {

/// Returns once every rank has called it: in round k each rank hears from the one 2^k to its left,
/// and compares calls with it.
void dissemination_barrier(Transport& transport, const Call& call);

}  // namespace fastgpu::comm
