// The memory of the buckets, which other ranks of this host can read in place.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "comm/communicator/communicator.hpp"

namespace fastgpu::comm {

/// Memory of the communicator, or else of the program: zeroed, and aligned to kFusionAlignment.
class FusionBuffer {
 public:
  /// Borrows `communicator`.
  FusionBuffer(Communicator& communicator, std::size_t bytes);
  FusionBuffer(const FusionBuffer&) = delete;
  FusionBuffer& operator=(const FusionBuffer&) = delete;
  ~FusionBuffer();

  std::span<std::byte> bytes() const noexcept { return bytes_; }

  /// Makes all bytes 0.
  void clear() noexcept;

 private:
  Communicator& communicator_;
  std::span<std::byte> allocated_;
  std::unique_ptr<std::byte[]> own_;
  std::span<std::byte> bytes_;
};

}  // namespace fastgpu::comm
