// Memory that a rank allocates for the data of its messages.
#pragma once

#include <cstddef>
#include <span>

namespace fastgpu::comm {

/// An allocator of memory for the data of messages.
class Heap {
 public:
  virtual ~Heap() = default;

  /// Returns memory that is zeroed, and aligned for any type. Throws ErrorKind::capacity.
  virtual std::span<std::byte> allocate(std::size_t bytes) = 0;

  /// Frees memory. Throws ErrorKind::usage for memory that `allocate` has not given.
  virtual void free(const std::byte* memory) = 0;
};

}  // namespace fastgpu::comm
