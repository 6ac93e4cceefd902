#include "comm/transports/shared_stores.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "comm/kernels/kernels.hpp"

namespace fastgpu::comm {
namespace {

using Clock = std::chrono::steady_clock;
using Way = FasterWay::Way;

/// Shorter stores take no longer one way than the other.
constexpr std::size_t kShort = 1 << 10;
/// The bytes of a store that are measured: fewer are too few, more cost too much in a trial.
constexpr std::size_t kShortestTrial = 8 << 10;
constexpr std::size_t kLongestTrial = 64 << 10;

/// Half of a core's first cache; whole elements of each type.
constexpr std::size_t kBuffer = 16 << 10;

void copy(Way way, std::span<std::byte> to, std::span<const std::byte> from) {
  if (from.empty()) return;
  if (way == Way::other)
    kernels().stream(to.data(), from.data(), from.size());
  else
    std::memcpy(to.data(), from.data(), from.size());
}

void sum(Way way, std::span<std::byte> to, std::span<const std::byte> from, Reduction reduction) {
  if (way == Way::usual) return reduce_into(to, from, reduction);
  alignas(64) std::byte buffer[kBuffer];
  while (!to.empty()) {
    const auto part = std::span(buffer).first(std::min(to.size(), kBuffer));
    std::memcpy(part.data(), to.data(), part.size());
    reduce_into(part, from.first(part.size()), reduction);
    kernels().stream(to.data(), part.data(), part.size());
    to = to.subspan(part.size());
    from = from.subspan(part.size());
  }
}

}  // namespace

void SharedStores::put(const MessageSink& sink, std::size_t offset,
                       std::span<const std::byte> piece) {
  const bool is_long_sum = sink.reduction && piece.size() >= kShortestTrial;
  if (is_long_sum) return reduce(sink.memory.subspan(offset, piece.size()), piece, *sink.reduction);
  if (sink.reduction || !sink.was_read_by_others) return sink.take(offset, piece);
  store(sink.memory.subspan(offset, piece.size()), piece);
}

void SharedStores::reduce(std::span<std::byte> to, std::span<const std::byte> from,
                          Reduction reduction) {
  const bool is_trial = by_buffer_.is_trial();
  const std::size_t measured = is_trial ? std::min(to.size(), kLongestTrial) : to.size();
  const auto begin = is_trial ? Clock::now() : Clock::time_point();
  sum(by_buffer_.next(), to.first(measured), from.first(measured), reduction);
  by_buffer_.done(measured, is_trial ? Clock::now() - begin : Clock::duration());
  sum(by_buffer_.chosen(), to.subspan(measured), from.subspan(measured), reduction);
}

void SharedStores::store(std::span<std::byte> to, std::span<const std::byte> from) {
  if (to.data() == from.data()) return;
  if (from.size() < kShort) return copy(Way::usual, to, from);
  const Way way = past_caches_.next();
  if (from.size() < kShortestTrial) return copy(way, to, from);
  std::size_t done = from.size();
  if (past_caches_.is_trial()) {
    done = std::min(done, kLongestTrial);
    const auto begin = Clock::now();
    copy(way, to.first(done), from.first(done));
    past_caches_.done(done, Clock::now() - begin);
  } else {
    copy(way, to, from);
    past_caches_.done(done, {});
  }
  copy(past_caches_.chosen(), to.subspan(done), from.subspan(done));
}

}  // namespace fastgpu::comm
