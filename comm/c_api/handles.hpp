// The contents of the C ABI's opaque handles.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/gpu/device_collectives.hpp"
#include "comm/gradients/gradient_exchange.hpp"
#include "comm/include/fastgpu_comm.h"
#include "comm/rendezvous/rank_environment.hpp"

namespace fastgpu::comm::c_api {

/// A request whose destructor waits.
class OwnedDeviceRequest {
 public:
  OwnedDeviceRequest(gpu::DeviceCollectives::Request request,
                     std::shared_ptr<gpu::DeviceCollectives> collectives)
      : collectives_(std::move(collectives)), request_(std::move(request)) {}
  OwnedDeviceRequest(OwnedDeviceRequest&&) noexcept = default;
  OwnedDeviceRequest& operator=(OwnedDeviceRequest&&) noexcept = default;
  ~OwnedDeviceRequest() {
    if (request_) request_->finish();
  }

  bool test() const { return request_->test(); }
  void wait() { request_->wait(); }

 private:
  std::shared_ptr<gpu::DeviceCollectives> collectives_;  ///< Shared with the communicator.
  gpu::DeviceCollectives::Request request_;
};

/// Prints a warning to stderr.
void print_warning(const char* sentence, void* user);

/// Passes sentences on to a handler of the program, by default to stderr.
class Warnings final : public GradientEvents {
 public:
  /// NULL drops sentences.
  void set(fgc_warning_handler handler, void* user) {
    handler_ = handler;
    user_ = user;
  }

 private:
  void warned(const std::string& sentence) override {
    if (handler_ != nullptr) handler_(sentence.c_str(), user_);
  }

  fgc_warning_handler handler_ = print_warning;
  void* user_ = nullptr;
};

}  // namespace fastgpu::comm::c_api

struct fgc_comm {
  std::shared_ptr<fastgpu::comm::Communicator> communicator;  ///< Shared with its gradients.
  /// The process' environment, with the settings of fgc_init.
  fastgpu::comm::Environment environment;
  std::shared_ptr<fastgpu::comm::gpu::DeviceCollectives> on_device{};  ///< Shared with requests.
  std::string why_staged{};  ///< Empty if `on_device` goes by NCCL.
};

struct fgc_request {
  std::variant<fastgpu::comm::Handle, fastgpu::comm::c_api::OwnedDeviceRequest> work;
};

struct fgc_gradients final {
  fgc_gradients(std::shared_ptr<fastgpu::comm::Communicator> ranks,
                fastgpu::comm::GradientSettings settings)
      : communicator(std::move(ranks)), exchange(*communicator, std::move(settings), &warnings) {}

  std::shared_ptr<fastgpu::comm::Communicator> communicator;
  fastgpu::comm::c_api::Warnings warnings{};
  fastgpu::comm::GradientExchange exchange;
  /// The GPUs with gradients, by number; shared with `exchange`.
  std::map<std::size_t, std::shared_ptr<fastgpu::comm::gpu::Device>> devices{};
  std::vector<std::size_t> skipped{};  ///< Skipped in the last step.
};
