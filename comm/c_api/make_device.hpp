// The GPU of the C ABI: CUDA's where the library is built with it. Tests have one of their own.
#pragma once

#include <memory>

#include "comm/gpu/device.hpp"

namespace fastgpu::comm::c_api {

bool has_devices() noexcept;  ///< Whether the library is built with them.

/// The calling thread's current GPU. Throws ErrorKind::usage where the library is built without,
/// ErrorKind::local where there is none.
std::shared_ptr<gpu::Device> make_device();

}  // namespace fastgpu::comm::c_api
