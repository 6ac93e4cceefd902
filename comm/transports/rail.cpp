#include "comm/transports/rail.hpp"

#include <cassert>
#include <cstring>

namespace fastgpu::comm {

void Sink::take(std::size_t offset, std::span<const std::byte> piece) const {
  assert(offset <= memory.size() && piece.size() <= memory.size() - offset);
  const auto target = memory.subspan(offset, piece.size());
  if (piece.empty() || target.data() == piece.data()) return;
  if (reduction)
    reduce_into(target, piece, *reduction);
  else
    std::memcpy(target.data(), piece.data(), piece.size());
}

}  // namespace fastgpu::comm
