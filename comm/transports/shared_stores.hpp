// Stores to memory that cores of other ranks have in their caches.
#pragma once

#include <cstddef>
#include <span>

#include "comm/transports/faster_way.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

/// Stores in the own cache, or past the caches. If another core has a line, a store in the own
/// cache waits until it has dropped it. Cores of one last cache take little time for that; others,
/// such as those of two dies, take ten times that of stores past the caches. Which it is depends on
/// where the ranks run, so it is measured, now and then again.
class SharedStores {
 public:
  /// Copies `from` to `to`, which a peer has read, or reads meanwhile.
  void store(std::span<std::byte> to, std::span<const std::byte> from);

  /// Puts a piece of a message in its place, or reduces it there.
  void put(const MessageSink& sink, std::size_t offset, std::span<const std::byte> piece);

 private:
  void reduce(std::span<std::byte> to, std::span<const std::byte> from, Reduction reduction);

  /// Long stores. What goes past the caches is read from memory afterwards, which takes longer.
  FasterWay past_caches_{512, 3};
  /// Long sums: in their place, or in a buffer from which they go there past the caches.
  FasterWay by_buffer_{128, 2};
};

}  // namespace fastgpu::comm
