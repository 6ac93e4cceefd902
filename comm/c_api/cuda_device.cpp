// The device of a build with CUDA.
#include "comm/gpu/cuda_device.hpp"

#include "comm/c_api/make_device.hpp"

namespace fastgpu::comm::c_api {

bool has_devices() noexcept {
  return true;
}

std::size_t current_device() {
  return gpu::current_cuda_device();
}

std::shared_ptr<gpu::Device> make_device() {
  return std::make_shared<gpu::CudaDevice>();
}

}  // namespace fastgpu::comm::c_api
