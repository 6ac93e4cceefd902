// The GPU of the C ABI: CUDA's if the library is built with it. Tests have one of their own.
#pragma once

#include <cstddef>
#include <memory>

#include "comm/gpu/device.hpp"

namespace fastgpu::comm::c_api {

bool has_devices() noexcept;  ///< Returns true if the library is built with devices.

/// Returns the number of the calling thread's current GPU in this process. Throws as make_device.
std::size_t current_device();

/// Returns the calling thread's current GPU. Throws ErrorKind::usage if the library is built
/// without devices, ErrorKind::local without a GPU.
std::shared_ptr<gpu::Device> make_device();

}  // namespace fastgpu::comm::c_api
