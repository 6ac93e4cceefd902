// The missing device of a build without CUDA.
#include "base/error.hpp"
#include "comm/c_api/make_device.hpp"

namespace fastgpu::comm::c_api {
namespace {

Error missing_cuda() {
  return {ErrorKind::usage,
          "this libfastgpu_comm was built without CUDA: build it where nvcc is installed, with "
          "-Dcuda=enabled, or give memory of the host"};
}

}  // namespace

bool has_devices() noexcept {
  return false;
}

std::size_t current_device() {
  throw missing_cuda();
}

std::shared_ptr<gpu::Device> make_device() {
  throw missing_cuda();
}

}  // namespace fastgpu::comm::c_api
