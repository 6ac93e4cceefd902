#include "comm/gpu/tiles.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/error.hpp"

namespace fastgpu::comm::gpu {

TiledList tiled(std::span<const PlacedTensor> tensors) {
  if (tensors.size() > std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorKind::usage, std::to_string(tensors.size()) +
                                      " tensors in one list: 2^32 and more cannot be numbered");
  TiledList list;
  list.tensors.reserve(tensors.size());
  for (const auto& [tensor, place] : tensors) {
    const auto number = static_cast<std::uint32_t>(list.tensors.size());
    list.tensors.push_back({tensor.data, tensor.count, place, list.tensor_of_tile.size()});
    list.tensor_of_tile.insert(list.tensor_of_tile.end(), tiles_of(tensor.count), number);
    list.elements = std::max<std::uint64_t>(list.elements, place + tensor.count);
  }
  return list;
}

TiledList tiled(std::span<const Tensor> tensors) {
  std::vector<PlacedTensor> placed;
  std::size_t place = 0;
  for (const Tensor& tensor : tensors) {
    placed.push_back({tensor, place});
    place += tensor.count;
  }
  return tiled(placed);
}

}  // namespace fastgpu::comm::gpu
