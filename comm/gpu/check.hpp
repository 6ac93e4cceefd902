// CUDA's status codes as errors. For sources of this folder alone: it includes CUDA's header.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

namespace fastgpu::comm::gpu {

/// Throws ErrorKind::capacity if memory is short, ErrorKind::local for anything else but success.
void check(cudaError_t status, std::string_view doing);

}  // namespace fastgpu::comm::gpu
