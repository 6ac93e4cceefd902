// Memory of this process alone.
#pragma once

#include <map>
#include <memory>

#include "comm/transports/heap.hpp"

namespace fastgpu::comm {

/// A heap for ranks without a transport that has one of its own.
class PrivateHeap final : public Heap {
 public:
  std::span<std::byte> allocate(std::size_t bytes) override;
  void free(const std::byte* memory) override;

 private:
  std::map<const std::byte*, std::unique_ptr<std::byte[]>> memory_;
};

}  // namespace fastgpu::comm
