#include "comm/engine/private_heap.hpp"

#include <new>
#include <utility>

#include "base/available_memory.hpp"
#include "base/error.hpp"
#include "base/units.hpp"

namespace fastgpu::comm {

std::span<std::byte> PrivateHeap::allocate(std::size_t bytes) {
  check_available_memory(Bytes{bytes}, "memory");
  try {
    auto memory = std::make_unique<std::byte[]>(bytes);
    const std::span<std::byte> result(memory.get(), bytes);
    memory_.emplace(memory.get(), std::move(memory));
    return result;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::capacity, "no room for " + to_string(Bytes{bytes}) + " of memory");
  }
}

void PrivateHeap::free(const std::byte* memory) {
  if (memory_.erase(memory) == 0)
    throw Error(ErrorKind::usage, "this memory was not allocated by this communicator");
}

}  // namespace fastgpu::comm
