// Memory of ours that MPI uses for a while.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "comm/mpi/messages.hpp"

namespace fastgpu::comm {

using Memory = std::unique_ptr<std::byte[]>;

/// A pool of blocks of one size, used again and again.
class MemoryPool {
 public:
  explicit MemoryPool(std::size_t bytes) : bytes_(bytes) {}

  Memory take() {
    if (spare_.empty()) return std::make_unique<std::byte[]>(bytes_);
    Memory memory = std::move(spare_.back());
    spare_.pop_back();
    return memory;
  }
  void give(Memory memory) { spare_.push_back(std::move(memory)); }

 private:
  std::size_t bytes_;
  std::vector<Memory> spare_;
};

/// A transfer by MPI, and the memory for it, or null if that is another owner's.
class LentMemory {
 public:
  LentMemory(std::unique_ptr<mpi::Transfer> transfer, Memory memory)
      : transfer_(std::move(transfer)), memory_(std::move(memory)) {}
  LentMemory(LentMemory&&) = default;
  LentMemory& operator=(LentMemory&&) = delete;
  /// Leaves the memory to MPI, for as long as the process lives, if MPI still uses it.
  ~LentMemory() {
    if (transfer_) static_cast<void>(memory_.release());
  }

  bool test() {
    if (transfer_->test()) transfer_.reset();
    return transfer_ == nullptr;
  }
  const std::byte* bytes() const noexcept { return memory_.get(); }
  Memory take_back() { return std::move(memory_); }

 private:
  std::unique_ptr<mpi::Transfer> transfer_;  ///< Null once it is done.
  Memory memory_;
};

}  // namespace fastgpu::comm
