// What the opaque handles of the C ABI are.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/entry/gradient_entry.hpp"
#include "comm/include/fastgpu_comm.h"
#include "comm/rendezvous/environment.hpp"

struct fgc_comm {
  std::shared_ptr<fastgpu::comm::Communicator> communicator;  ///< Shared with its gradients.
  fastgpu::comm::Environment environment;                     ///< And the settings of fgc_init.
};

struct fgc_request {
  fastgpu::comm::Handle handle;
};

struct fgc_gradients final : private fastgpu::comm::EntryEvents {
  fgc_gradients(std::shared_ptr<fastgpu::comm::Communicator> ranks,
                fastgpu::comm::EntrySettings settings)
      : communicator(std::move(ranks)), entry(*communicator, std::move(settings), this) {}

  std::shared_ptr<fastgpu::comm::Communicator> communicator;
  fastgpu::comm::GradientEntry entry;
  std::vector<std::size_t> skipped{};  ///< In the last step.
  fgc_warning_handler handler = nullptr;
  void* user = nullptr;

 private:
  void warned(const std::string& sentence) override {
    if (handler != nullptr) handler(sentence.c_str(), user);
  }
};
