// Stands in for NCCL, for ranks that are threads of this process and have a FakeDevice each. Its
// kernels wait in the devices' streams, as NCCL's do, until all ranks have come or until they are
// aborted; what they write is anything then. Ranks join, and connect at the first call, in the
// background.
#pragma once

#include "comm/gpu/nccl_library.hpp"

namespace fastgpu::test {

/// Tests may put functions of their own in the place of these.
comm::gpu::NcclFunctions fake_nccl();

constexpr int kFakeNcclVersion = 22809;

}  // namespace fastgpu::test
