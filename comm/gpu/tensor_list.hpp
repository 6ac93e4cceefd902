// A list of tensors in device memory, made ready once for kernels that go through all of it, and
// where such kernels report what is not finite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "comm/gpu/memory.hpp"
#include "comm/gpu/tiles.hpp"
#include "comm/kernels/pack.hpp"

namespace fastgpu::comm::gpu {

/// The tensors' memory is the device's and must outlive the list; each is aligned for its type.
class TensorList {
 public:
  /// Blocks until the device has the list.
  explicit TensorList(std::span<const Tensor> tensors);
  explicit TensorList(std::span<const PlacedTensor> tensors);

  std::size_t size() const noexcept { return tensors_; }
  std::size_t elements() const noexcept { return elements_; }
  const TileMap& map() const noexcept { return map_; }  ///< In device memory.

 private:
  explicit TensorList(const TiledList& list);

  std::size_t tensors_;
  std::size_t elements_;
  DeviceBuffer memory_;
  TileMap map_;
};

/// The bytes that the list takes in a buffer of elements of type `to`.
std::size_t packed_bytes(const TensorList& list, ElementType to) noexcept;

/// Per tensor of a list, the index of its first NaN or infinity. Kernels add what they find; one
/// that finds nothing leaves it as it is.
class NonFiniteTable {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  explicit NonFiniteTable(std::size_t tensors);

  std::uint64_t* device() const noexcept;

  /// Copies what has been found to the host and forgets it on the device, once the stream comes to
  /// it.
  void fetch(StreamHandle stream);

  /// As fetched, after the stream has passed that.
  std::span<const std::uint64_t> fetched() const noexcept;
  std::optional<NonFinite> first() const noexcept;

 private:
  DeviceBuffer found_;
  PinnedBuffer fetched_;
};

}  // namespace fastgpu::comm::gpu
