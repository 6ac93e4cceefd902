// Operations that have ended, for their memory to be used again: to allocate it takes long beside a
// small message.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "comm/engine/operation.hpp"

namespace fastgpu::comm {

/// A pool of small operations. All that read or change an operation hold the engine's lock, and so
/// does the pool's caller; only the number of owners changes without it.
class OperationPool {
 public:
  /// Returns an operation that begins `work`: an ended one that has no other owner, or a new one.
  std::shared_ptr<Operation> begin(Work work) {
    const auto is_free = [](const auto& operation) { return operation.use_count() == 1; };
    const auto spare = std::ranges::find_if(ended_, is_free);
    if (spare == ended_.end()) return std::make_shared<Operation>(std::move(work));
    std::shared_ptr<Operation> operation = std::move(*spare);
    ended_.erase(spare);
    operation->reset(std::move(work));
    return operation;
  }

  /// Keeps an operation that has ended, which others may still own, if it is small.
  void keep(std::shared_ptr<Operation> operation) {
    if (ended_.size() < kMost && operation->is_small()) ended_.push_back(std::move(operation));
  }

 private:
  static constexpr std::size_t kMost = 16;

  std::vector<std::shared_ptr<Operation>> ended_;
};

}  // namespace fastgpu::comm
