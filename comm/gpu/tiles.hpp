// The part of a list of tensors on which a warp works: arithmetic alone, the same on host and
// device.
//
// Every tensor is cut into tiles of one size, the last one shorter. Tiles are numbered through the
// whole list, and are shared out to warps evenly. A list of a thousand small tensors and one of a
// single large tensor both keep every warp busy, in one launch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/gpu/device.hpp"
#include "comm/gpu/host_device.hpp"
#include "comm/kernels/pack.hpp"

namespace fastgpu::comm::gpu {

/// The number of elements in a tile. A multiple of 16, so that tiles are aligned if their tensor
/// is.
constexpr std::uint64_t kTileElements = 2048;

/// A tensor as kernels read it.
struct TiledTensor {
  std::byte* data = nullptr;
  std::uint64_t count = 0;       ///< Number of elements.
  std::uint64_t packed = 0;      ///< Number of elements before it in the buffer.
  std::uint64_t first_tile = 0;  ///< Number of tiles before it.
};

/// The data by which a warp finds its work; in the memory of its reader.
struct TileMap {
  const TiledTensor* tensors = nullptr;
  const std::uint32_t* tensor_of_tile = nullptr;
  std::uint64_t tiles = 0;
};

/// Consecutive elements of one tensor.
struct Tile {
  std::uint32_t tensor = 0;   ///< The tensor's place in the list.
  std::byte* data = nullptr;  ///< The data of the whole tensor.
  std::uint64_t begin = 0;    ///< The first element within the tensor.
  std::uint64_t packed = 0;   ///< The place of element `begin` in the buffer.
  std::uint64_t count = 0;    ///< 1 .. kTileElements.
};

FASTGPU_HOST_DEVICE constexpr std::uint64_t tiles_of(std::uint64_t count) noexcept {
  return (count + kTileElements - 1) / kTileElements;
}

/// Returns the number of elements in tile `tile` of an array of `count` elements, without a list.
FASTGPU_HOST_DEVICE constexpr std::uint64_t elements_in_tile(std::uint64_t count,
                                                             std::uint64_t tile) noexcept {
  const std::uint64_t left = count - tile * kTileElements;
  return left < kTileElements ? left : kTileElements;
}

FASTGPU_HOST_DEVICE inline Tile tile_at(const TileMap& map, std::uint64_t number) noexcept {
  const std::uint32_t place = map.tensor_of_tile[number];
  const TiledTensor tensor = map.tensors[place];
  const std::uint64_t tile = number - tensor.first_tile;
  const std::uint64_t begin = tile * kTileElements;
  return {place, tensor.data, begin, tensor.packed + begin, elements_in_tile(tensor.count, tile)};
}

/// The map of a list, in host memory.
struct TiledList {
  std::vector<TiledTensor> tensors;
  std::vector<std::uint32_t> tensor_of_tile;
  std::uint64_t elements = 0;  ///< Elements of the buffer, up to the end of the last tensor there.

  TileMap map() const noexcept {
    return {tensors.data(), tensor_of_tile.data(), tensor_of_tile.size()};
  }
};

/// Returns the map for tensors at their places in the buffer, or one after the other. Throws
/// ErrorKind::usage for 2^32 tensors and more.
TiledList tiled(std::span<const PlacedTensor> tensors);
TiledList tiled(std::span<const Tensor> tensors);

}  // namespace fastgpu::comm::gpu
