#include "comm/fusion/seal.hpp"

#include <algorithm>
#include <bit>

#include "comm/common/wire.hpp"

namespace fastgpu::comm {
namespace {

std::uint64_t word_at(std::span<const std::byte> bytes) noexcept {
  std::uint64_t word = 0;
  for (const std::byte each : bytes)
    word = word << 8 | std::to_integer<std::uint64_t>(each);
  return word;
}

/// Returns a sum of eight bytes at a time. A rotation lets each bit of a word reach all others.
std::uint64_t sum_of(std::span<const std::byte> bytes) noexcept {
  std::uint64_t sum = bytes.size() + 0x9e3779b97f4a7c15U;
  while (!bytes.empty()) {
    const auto word = bytes.first(std::min(bytes.size(), sizeof(std::uint64_t)));
    sum = std::rotl((sum ^ word_at(word)) * 0xff51afd7ed558ccdU, 29);
    bytes = bytes.subspan(word.size());
  }
  return sum;
}

}  // namespace

void seal(std::span<std::byte> state) {
  WireWriter(state.last(kSealBytes)).put(sum_of(without_seal(state)));
}

std::span<const std::byte> without_seal(std::span<const std::byte> state) noexcept {
  return state.first(state.size() < kSealBytes ? 0 : state.size() - kSealBytes);
}

bool has_seal(std::span<const std::byte> state) noexcept {
  return state.size() >= kSealBytes &&
         word_at(state.last(kSealBytes)) == sum_of(without_seal(state));
}

}  // namespace fastgpu::comm
