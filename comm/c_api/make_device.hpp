// The GPU of the C ABI: CUDA's if the library is built with it. Tests have one of their own.
#pragma once

#include <memory>

#include "comm/gpu/device.hpp"

namespace fastgpu::comm::c_api {

bool has_devices() noexcept;  ///< Returns true if the library is built with devices.

/// Returns the calling thread's current GPU. Throws ErrorKind::usage if the library is built
/// without devices, ErrorKind::local without a GPU.
std::shared_ptr<gpu::Device> make_device();

}  // namespace fastgpu::comm::c_api
