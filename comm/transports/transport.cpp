#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

bool MessageSink::accepts(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  const std::uint64_t element = reduction ? size_of(reduction->type) : 1;
  return offset <= memory.size() && bytes <= memory.size() - offset && offset % element == 0 &&
         bytes % element == 0;
}

}  // namespace fastgpu::comm
