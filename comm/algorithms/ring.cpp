#include "comm/algorithms/ring.hpp"

#include <algorithm>

namespace fastgpu::comm {
namespace {

/// `data` in one block per rank; the first blocks are one element longer where it does not divide.
class Blocks {
 public:
  Blocks(std::span<std::byte> data, std::size_t element, int ranks)
      : data_(data), element_(element), ranks_(static_cast<std::size_t>(ranks)) {}

  /// Block `index` modulo the number of ranks; `index` is at least -ranks.
  std::span<std::byte> operator[](int index) const {
    const std::size_t block = (static_cast<std::size_t>(index + int(ranks_))) % ranks_;
    return data_.subspan(begin(block) * element_, (begin(block + 1) - begin(block)) * element_);
  }

 private:
  std::size_t begin(std::size_t block) const {
    const std::size_t count = data_.size() / element_;
    return count / ranks_ * block + std::min(block, count % ranks_);
  }

  std::span<std::byte> data_;
  std::size_t element_;
  std::size_t ranks_;
};

/// Bytes [at, at + length) of `whole`, as far as it reaches.
std::span<std::byte> piece(std::span<std::byte> whole, std::size_t at, std::size_t length) {
  const std::size_t begin = std::min(at, whole.size());
  return whole.subspan(begin, std::min(length, whole.size() - begin));
}

/// Sends `out` to the right and reduces what comes from the left into `in`, piece by piece.
void pass_and_reduce(Transport& transport, std::span<std::byte> out, std::span<std::byte> in,
                     Reduction reduction, std::span<std::byte> scratch) {
  const std::size_t element = size_of(reduction.type);
  const std::size_t length = scratch.size() / element * element;
  for (std::size_t at = 0; at < std::max(out.size(), in.size()); at += length) {
    const auto target = piece(in, at, length);
    const auto received = scratch.first(target.size());
    transport.exchange(right_of(transport), piece(out, at, length), left_of(transport), received);
    reduce_into(target, received, reduction);
  }
}

}  // namespace

Rank left_of(const Transport& transport) noexcept {
  return {(transport.rank().value + transport.size() - 1) % transport.size()};
}

Rank right_of(const Transport& transport) noexcept {
  return {(transport.rank().value + 1) % transport.size()};
}

void ring_all_reduce(Transport& transport, std::span<std::byte> data, Reduction reduction,
                     std::span<std::byte> scratch) {
  const int ranks = transport.size();
  const int self = transport.rank().value;
  const Blocks blocks(data, size_of(reduction.type), ranks);
  for (int step = 0; step < ranks - 1; ++step)
    pass_and_reduce(transport, blocks[self - step], blocks[self - step - 1], reduction, scratch);
  finish(blocks[self + 1], reduction, ranks);
  for (int step = 0; step < ranks - 1; ++step)
    transport.exchange(right_of(transport), blocks[self + 1 - step], left_of(transport),
                       blocks[self - step]);
}

void ring_all_gather(Transport& transport, std::span<const std::byte> mine,
                     std::span<std::byte> all) {
  const int ranks = transport.size();
  const int self = transport.rank().value;
  const Blocks blocks(all, std::max<std::size_t>(mine.size(), 1), ranks);
  std::ranges::copy(mine, blocks[self].begin());
  for (int step = 0; step < ranks - 1; ++step)
    transport.exchange(right_of(transport), blocks[self - step], left_of(transport),
                       blocks[self - step - 1]);
}

}  // namespace fastgpu::comm
