// A list of tensors in device memory, prepared once for kernels that go through all of it. Also the
// table in which such kernels report what is not finite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "comm/gpu/memory.hpp"
#include "comm/gpu/tiles.hpp"
#include "comm/kernels/pack.hpp"

namespace fastgpu::comm::gpu {

/// A list of tensors. Their memory is the device's and must outlive the list; each is aligned for
/// its type.
class TensorList {
 public:
  /// Blocks until the device has the list.
  explicit TensorList(std::span<const Tensor> tensors);
  explicit TensorList(std::span<const PlacedTensor> tensors);

  std::size_t size() const noexcept { return tensors_; }
  std::size_t elements() const noexcept { return elements_; }
  const TileMap& map() const noexcept { return map_; }  ///< Kept in device memory.

 private:
  explicit TensorList(const TiledList& list);

  std::size_t tensors_;
  std::size_t elements_;
  DeviceBuffer memory_;
  TileMap map_;
};

/// Returns the bytes that the list takes in a buffer of elements of type `to`.
std::size_t packed_bytes(const TensorList& list, ElementType to) noexcept;

/// The index of the first NaN or infinity of each tensor of a list. Kernels add what they find, and
/// change nothing otherwise.
class NonFiniteTable {
 public:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  explicit NonFiniteTable(std::size_t tensors);

  std::uint64_t* device() const noexcept;

  /// Copies the results to the host and resets them on the device, once the stream comes to it.
  void fetch(StreamHandle stream);

  /// Returns the fetched results; valid after the stream has passed `fetch`.
  std::span<const std::uint64_t> fetched() const noexcept;
  std::optional<NonFinite> first() const noexcept;

 private:
  DeviceBuffer found_;
  PinnedBuffer fetched_;
};

}  // namespace fastgpu::comm::gpu
