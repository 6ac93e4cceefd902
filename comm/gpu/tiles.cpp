#include "comm/gpu/tiles.hpp"

#include <limits>
#include <string>

#include "base/error.hpp"

namespace fastgpu::comm::gpu {

TiledList tiled(std::span<const Tensor> tensors) {
  if (tensors.size() > std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorKind::usage, std::to_string(tensors.size()) +
                                      " tensors in one list: 2^32 and more cannot be numbered");
  TiledList list;
  list.tensors.reserve(tensors.size());
  for (const Tensor& tensor : tensors) {
    const auto place = static_cast<std::uint32_t>(list.tensors.size());
    list.tensors.push_back({tensor.data, tensor.count, list.elements, list.tensor_of_tile.size()});
    list.tensor_of_tile.insert(list.tensor_of_tile.end(), tiles_of(tensor.count), place);
    list.elements += tensor.count;
  }
  return list;
}

}  // namespace fastgpu::comm::gpu
