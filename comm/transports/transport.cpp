#include "comm/transports/transport.hpp"

#include <cassert>
#include <cstring>

namespace fastgpu::comm {

void MessageSink::take(std::size_t offset, std::span<const std::byte> piece) const {
  assert(offset <= memory.size() && piece.size() <= memory.size() - offset);
  const auto target = memory.subspan(offset, piece.size());
  if (piece.empty() || target.data() == piece.data()) return;
  if (reduction)
    reduce_into(target, piece, *reduction);
  else
    std::memcpy(target.data(), piece.data(), piece.size());
}

bool MessageSink::accepts(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  const std::uint64_t element = reduction ? size_of(reduction->type) : 1;
  return offset <= memory.size() && bytes <= memory.size() - offset && offset % element == 0 &&
         bytes % element == 0;
}

}  // namespace fastgpu::comm
