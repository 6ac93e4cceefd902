#include "comm/fusion/fusion_buffer.hpp"

#include <cstring>

#include "base/available_memory.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "comm/fusion/fusion.hpp"

namespace fastgpu::comm {

FusionBuffer::FusionBuffer(Communicator& communicator, std::size_t bytes)
    : communicator_(communicator) {
  const std::size_t with_room = bytes + kFusionAlignment;
  std::span<std::byte> memory;
  try {
    memory = allocated_ = communicator_.allocate(with_room);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::capacity) throw;
    check_available_memory(Bytes{with_room}, "memory for gradients");
    own_ = std::make_unique<std::byte[]>(with_room);
    memory = {own_.get(), with_room};
  }
  void* begin = memory.data();
  std::size_t room = memory.size();
  std::align(kFusionAlignment, bytes, begin, room);
  bytes_ = {static_cast<std::byte*>(begin), bytes};
  clear();
}

void FusionBuffer::clear() noexcept {
  if (!bytes_.empty()) std::memset(bytes_.data(), 0, bytes_.size());
}

FusionBuffer::~FusionBuffer() {
  try {
    if (!allocated_.empty()) communicator_.free(allocated_);
  } catch (const Error&) {
    // No longer ours: there is nothing to free.
  }
}

}  // namespace fastgpu::comm
