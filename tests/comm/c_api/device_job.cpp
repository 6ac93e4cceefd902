#include "comm/c_api/device_job.hpp"

#include <cstdint>

#include "comm/c_api/make_device.hpp"
#include "gpu/fake_nccl.hpp"

namespace fastgpu {

namespace test {

std::shared_ptr<FakeDevice>& current_device() {
  thread_local std::shared_ptr<FakeDevice> device;
  return device;
}

std::vector<std::string> prepare_rank(std::size_t rank, std::size_t size, int port, WithNccl nccl,
                                      const std::vector<std::string>& more) {
  current_device() = std::make_shared<FakeDevice>();
  const bool has_nccl = nccl == WithNccl::all || (nccl == WithNccl::all_but_rank_1 && rank != 1);
  if (has_nccl)
    current_device()->install_nccl(std::make_shared<comm::gpu::NcclLibrary>(fake_nccl()));
  std::vector<std::string> settings{
      "RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(size), "MASTER_ADDR=127.0.0.1",
      "MASTER_PORT=" + std::to_string(port), "FASTGPU_COMM_SECRET=the test's"};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

}  // namespace test

namespace comm::c_api {

bool has_devices() noexcept {
  return true;
}

std::size_t current_device() {
  return reinterpret_cast<std::uintptr_t>(test::current_device().get());
}

std::shared_ptr<gpu::Device> make_device() {
  return test::current_device();
}

}  // namespace comm::c_api

}  // namespace fastgpu
