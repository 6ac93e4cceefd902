#include "comm/bench/pattern.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/bench/number.hpp"
#include "comm/common/float16.hpp"

namespace fastgpu::comm::bench {
namespace {

/// The number of elements after which numbers repeat: a prime, so that blocks begin at different
/// ones.
constexpr std::size_t kPeriod = 4099;
/// The maximum of ranks that add to one element: a sum of 100 is exact in an int8, and in 16 bits.
constexpr int kMostAddends = 100;

/// Mixes rank and index evenly.
std::uint32_t mixed(int rank, std::size_t index) noexcept {
  auto value = static_cast<std::uint64_t>(rank + 1) * 0x9e3779b97f4a7c15U + index;
  value = (value ^ (value >> 31U)) * 0xbf58476d1ce4e5b9U;
  return static_cast<std::uint32_t>(value >> 40U);
}

/// Returns the number that `place.rank` adds to element `index`.
int addend(BenchRank place, std::size_t index) noexcept {
  const auto turned =
      (static_cast<std::size_t>(place.rank) + index) % static_cast<std::size_t>(place.ranks);
  return turned < kMostAddends ? static_cast<int>(mixed(place.rank, index) % 2) : 0;
}

/// One period of elements, as bytes.
class Period {
 public:
  template <class Value>
  Period(ElementType type, Value value) : size_(size_of(type)), bytes_(kPeriod * size_) {
    for (std::size_t i = 0; i < kPeriod; ++i)
      put_number(type, static_cast<float>(value(i)), std::span(bytes_).subspan(i * size_, size_));
  }

  /// Fills `memory`, whose first element is number `first`.
  void write(std::span<std::byte> memory, std::size_t first) const {
    each_piece(memory.size(), first, [&](std::size_t at, std::span<const std::byte> piece) {
      std::memcpy(memory.data() + at, piece.data(), piece.size());
      return true;
    });
  }

  /// Returns the first byte of `memory` that `write` would have changed; its size if all agree.
  std::size_t first_difference(std::span<const std::byte> memory, std::size_t first) const {
    std::size_t found = memory.size();
    each_piece(memory.size(), first, [&](std::size_t at, std::span<const std::byte> piece) {
      if (std::memcmp(memory.data() + at, piece.data(), piece.size()) == 0) return true;
      found = at;
      while (memory[found] == piece[found - at])
        ++found;
      return false;
    });
    return found;
  }

  std::span<const std::byte> element(std::size_t index) const {
    return std::span(bytes_).subspan(index % kPeriod * size_, size_);
  }

 private:
  /// Calls `act` for each piece until it returns false.
  template <class Act>
  void each_piece(std::size_t bytes, std::size_t first, Act act) const {
    std::size_t from = first % kPeriod * size_;
    for (std::size_t at = 0; at < bytes; from = 0) {
      const std::size_t length = std::min(bytes_.size() - from, bytes - at);
      if (!act(at, std::span(bytes_).subspan(from, length))) return;
      at += length;
    }
  }

  std::size_t size_;
  std::vector<std::byte> bytes_;
};

Period given_by(const BenchCall& call, BenchRank place) {
  const bool adds = is_reduction(call.collective);
  return {call.type, [&](std::size_t i) {
            return adds ? addend(place, i) : static_cast<int>(mixed(place.rank, i) % 101);
          }};
}

Period sum_of_all(const BenchCall& call, int ranks) {
  return {call.type, [&](std::size_t i) {
            int sum = 0;
            for (int rank = 0; rank < ranks; ++rank)
              sum += addend({rank, ranks}, i);
            return sum;
          }};
}

/// Throws unless `got`, which begins with element `first` of `wanted`, equals it.
void check_part(const BenchCall& call, BenchRank place, std::span<const std::byte> got,
                const Period& wanted, std::size_t first) {
  const std::size_t at = wanted.first_difference(got, first);
  if (at == got.size()) return;
  const std::size_t size = size_of(call.type);
  const std::size_t index = at / size;
  const auto offset = static_cast<std::size_t>(got.data() - call.out.data()) / size;
  throw Error(ErrorKind::remote,
              std::string(name_of(call.collective)) + " of " + std::to_string(call.bytes().count) +
                  " bytes of " + std::string(comm::name_of(call.type)) + " on rank " +
                  std::to_string(place.rank) + ": element " + std::to_string(offset + index) +
                  " is " + number_text(call.type, got.subspan(index * size, size)) + ", not " +
                  number_text(call.type, wanted.element(first + index)));
}

/// Checks blocks: block s comes from rank s, which has sent its elements from number `first` on.
void check_blocks(const BenchCall& call, BenchRank place, std::size_t first) {
  const std::size_t block = call.out.size() / static_cast<std::size_t>(place.ranks);
  for (int source = 0; source < place.ranks; ++source)
    check_part(call, place, call.out.subspan(static_cast<std::size_t>(source) * block, block),
               given_by(call, {source, place.ranks}), first);
}

}  // namespace

void fill(const BenchCall& call, BenchRank place) {
  if (call.out.data() != call.in.data()) std::ranges::fill(call.out, std::byte{0x5a});
  given_by(call, place).write(call.in, 0);
}

void check(const BenchCall& call, BenchRank place) {
  const std::size_t blocks = call.out.size() / size_of(call.type);
  const std::size_t mine = blocks * static_cast<std::size_t>(place.rank);
  switch (call.collective) {
    case BenchCollective::all_reduce:
      return check_part(call, place, call.out, sum_of_all(call, place.ranks), 0);
    case BenchCollective::reduce_scatter:
      return check_part(call, place, call.out, sum_of_all(call, place.ranks), mine);
    case BenchCollective::broadcast:
      return check_part(call, place, call.out, given_by(call, {0, place.ranks}), 0);
    case BenchCollective::message:
      if (place.rank != 1) return;
      return check_part(call, place, call.out, given_by(call, {0, place.ranks}), 0);
    case BenchCollective::ping_pong:
      if (place.rank > 1) return;
      return check_part(call, place, call.out, given_by(call, {0, place.ranks}), 0);
    case BenchCollective::all_gather:
      return check_blocks(call, place, 0);
    case BenchCollective::all_to_all:
      return check_blocks(call, place, mine / static_cast<std::size_t>(place.ranks));
    case BenchCollective::barrier:
      return;
  }
}

}  // namespace fastgpu::comm::bench
