#include "comm/schedule/doubling.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

namespace fastgpu::comm {
namespace {

/// The largest power of two among the ranks, as a group. In the first pairs the odd rank belongs to
/// it and acts for both.
class PowerOfTwo {
 public:
  explicit PowerOfTwo(RankPlace place)
      : place_(place), size_(std::bit_floor(unsigned(place.ranks))), pairs_(place.ranks - size()) {}

  int size() const { return static_cast<int>(size_); }
  bool is_paired() const { return place_.self < 2 * pairs_; }
  bool is_member() const { return !is_paired() || place_.self % 2 == 1; }
  int pair_partner() const { return place_.self ^ 1; }

  /// Returns a member's number in the group.
  int self() const { return is_paired() ? place_.self / 2 : place_.self - pairs_; }
  int rank_of(int member) const { return member < pairs_ ? 2 * member + 1 : member + pairs_; }

 private:
  RankPlace place_;
  unsigned size_;
  int pairs_;
};

/// Runs `inside` in the group. Ranks outside it first give their data to their partner, and get the
/// result at the end.
template <class Inside>
void with_pairs_folded(const PowerOfTwo& group, std::uint64_t count, Cut cut, Program& program,
                       Inside inside) {
  Writer writer(program);
  const auto pieces = group.is_paired() ? pieces_of(whole_of(count), cut) : std::vector<Piece>{};
  for (const Piece& piece : pieces)
    if (group.is_member()) {
      writer.receive_reduce(group.pair_partner(), piece);
    } else {
      writer.send(group.pair_partner(), piece);
    }
  if (group.is_member()) inside(writer);
  for (const Piece& piece : pieces)
    if (group.is_member()) {
      writer.send(group.pair_partner(), piece);
    } else {
      writer.receive(group.pair_partner(), piece);
    }
}

enum class Order : std::uint8_t { lower_first, upper_first };

/// Runs of slices, cut so that the pieces which the receiver passes on in its next step come first.
/// Otherwise some ranks get ahead of others, and their next step takes the link from this one.
class Halves {
 public:
  Halves(const Part& whole, int slices, Cut cut) : whole_(whole), slices_(slices), cut_(cut) {}

  std::vector<Piece> pieces(int first, int number, Order order) const {
    if (number == 1 || cut_.pieces == 1)
      return pieces_of(slices_of(whole_, first, first + number, slices_), cut_);
    const int middle = first + number / 2;
    const Part lower = slices_of(whole_, first, middle, slices_);
    const Part upper = slices_of(whole_, middle, first + number, slices_);
    std::vector<Piece> result;
    for (const Part& part :
         order == Order::lower_first ? std::array{lower, upper} : std::array{upper, lower})
      for (const Piece& piece : pieces_of(part, {.pieces = cut_.pieces / 2, .lanes = 1}))
        result.push_back({piece.part, static_cast<std::uint8_t>(int(result.size()) % cut_.lanes)});
    return result;
  }

 private:
  Part whole_;
  int slices_;
  Cut cut_;
};

}  // namespace

Program all_reduce_by_recursive_doubling(RankPlace place, std::uint64_t count) {
  const PowerOfTwo group(place);
  Program program{.steps = {}, .scratch = group.size() > 1 ? count : 0};
  with_pairs_folded(group, count, {}, program, [&](Writer& writer) {
    Part mine = whole_of(count);
    Part theirs{Buffer::scratch, 0, count};
    for (int bit = 1; bit < group.size(); bit <<= 1) {
      const int peer = group.rank_of(group.self() ^ bit);
      writer.send(peer, {mine, 0});
      writer.receive(peer, {theirs, 0});
      if (peer < place.self) std::swap(mine, theirs);
      writer.reduce(mine, theirs);
    }
    if (mine.buffer != Buffer::data) writer.copy(theirs, mine);
  });
  return program;
}

Program all_reduce_by_halving_and_doubling(RankPlace place, std::uint64_t count, Cut cut) {
  const PowerOfTwo group(place);
  Program program;
  with_pairs_folded(group, count, cut, program, [&](Writer& writer) {
    // Nearest partners first, for they exchange most. The partner whose bit is set keeps the upper
    // half of the slices that are left to the two.
    const auto is_upper = [self = group.self()](int bit) { return (self & bit) != 0; };
    const Halves halves(whole_of(count), group.size(), cut);
    int first = 0;
    for (int bit = 1; bit < group.size(); bit <<= 1) {
      const int half = group.size() / (2 * bit);
      const int peer = group.rank_of(group.self() ^ bit);
      const Order order = is_upper(2 * bit) ? Order::lower_first : Order::upper_first;
      for (const Piece& piece : halves.pieces(is_upper(bit) ? first : first + half, half, order))
        writer.send(peer, piece);
      if (is_upper(bit)) first += half;
      for (const Piece& piece : halves.pieces(first, half, order))
        writer.receive_reduce(peer, piece);
    }
    for (int bit = group.size() / 2; bit > 0; bit >>= 1) {
      const int half = group.size() / (2 * bit);
      const int peer = group.rank_of(group.self() ^ bit);
      const Order order = is_upper(2 * bit) ? Order::upper_first : Order::lower_first;
      for (const Piece& piece : halves.pieces(first, half, order))
        writer.send(peer, piece);
      if (is_upper(bit)) first -= half;
      for (const Piece& piece : halves.pieces(is_upper(bit) ? first : first + half, half, order))
        writer.receive(peer, piece);
    }
  });
  return program;
}

Program all_gather_blocks_by_doubling(RankPlace place, std::uint64_t block) {
  Program program;
  Writer writer(program);
  const auto block_of = [&](int rank, int number) {
    return Part{Buffer::data, block * unsigned(rank), block * unsigned(number)};
  };
  // The blocks of `number` ranks from `first` on, of which those after the last are the first ones.
  const auto runs = [&](int first, int number) {
    const int before_end = std::min(number, place.ranks - first);
    std::vector<Part> runs{block_of(first, before_end)};
    if (number > before_end) runs.push_back(block_of(0, number - before_end));
    return runs;
  };
  writer.copy(block_of(place.self, 1), {Buffer::input, 0, block});
  if (std::has_single_bit(unsigned(place.ranks))) {
    for (int has = 1; has < place.ranks; has *= 2) {
      const int first = place.self / has * has;
      writer.send(place.self ^ has, {block_of(first, has), 0});
      writer.receive(place.self ^ has, {block_of(first ^ has, has), 0});
    }
    return program;
  }
  for (int has = 1; has < place.ranks; has *= 2) {
    const int number = std::min(has, place.ranks - has);
    for (const Part& run : runs(place.self, number))
      writer.send(place.left(has), {run, 0});
    for (const Part& run : runs(place.right(has), number))
      writer.receive(place.right(has), {run, 0});
  }
  return program;
}

Program reduce_scatter_blocks_by_halving(RankPlace place, std::uint64_t block) {
  const auto blocks = [&](Buffer buffer, int first, int number) {
    return Part{buffer, block * unsigned(first), block * unsigned(number)};
  };
  int half = place.ranks / 2;
  Program program{.steps = {}, .scratch = half > 0 ? block * unsigned(half) : 0};
  Writer writer(program);
  if (half == 0) {
    writer.copy(blocks(Buffer::data, 0, 1), blocks(Buffer::input, 0, 1));
    return program;
  }
  // The half of the blocks that this rank's own is in is summed up in scratch.
  const int first = place.self & half;
  writer.copy(blocks(Buffer::scratch, 0, half), blocks(Buffer::input, first, half));
  writer.send(place.self ^ half, {blocks(Buffer::input, first ^ half, half), 0});
  writer.receive_reduce(place.self ^ half, {blocks(Buffer::scratch, 0, half), 0});
  for (half /= 2; half > 0; half /= 2) {
    const int mine = (place.self & ~(half - 1)) - first;
    writer.send(place.self ^ half, {blocks(Buffer::scratch, mine ^ half, half), 0});
    writer.receive_reduce(place.self ^ half, {blocks(Buffer::scratch, mine, half), 0});
  }
  writer.copy(blocks(Buffer::data, 0, 1), blocks(Buffer::scratch, place.self - first, 1));
  return program;
}

}  // namespace fastgpu::comm
