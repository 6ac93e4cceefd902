#include "comm/schedule/doubling.hpp"

#include <bit>
#include <utility>

namespace fastgpu::comm {
namespace {

/// The largest power of two among the ranks, as a group: of the first pairs the odd rank belongs to
/// it and acts for both.
class PowerOfTwo {
 public:
  explicit PowerOfTwo(Place place)
      : place_(place), size_(std::bit_floor(unsigned(place.ranks))), pairs_(place.ranks - size()) {}

  int size() const { return static_cast<int>(size_); }
  bool is_paired() const { return place_.self < 2 * pairs_; }
  bool is_member() const { return !is_paired() || place_.self % 2 == 1; }
  int pair_partner() const { return place_.self ^ 1; }

  /// Of a member: its number in the group.
  int self() const { return is_paired() ? place_.self / 2 : place_.self - pairs_; }
  int rank_of(int member) const { return member < pairs_ ? 2 * member + 1 : member + pairs_; }

 private:
  Place place_;
  unsigned size_;
  int pairs_;
};

/// Those left out give their data to their partner, the group does `inside`, and they get the
/// result.
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

}  // namespace

Program all_reduce_by_recursive_doubling(Place place, std::uint64_t count) {
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

Program all_reduce_by_halving_and_doubling(Place place, std::uint64_t count, Cut cut) {
  const PowerOfTwo group(place);
  Program program;
  const auto members = [&](int first, int number) {
    return pieces_of(slices_of(whole_of(count), first, first + number, group.size()), cut);
  };
  with_pairs_folded(group, count, cut, program, [&](Writer& writer) {
    // At distance d, the slices of d members that agree in all higher bits are still of concern.
    for (int distance = group.size() / 2; distance > 0; distance /= 2) {
      const int peer = group.rank_of(group.self() ^ distance);
      for (const Piece& piece : members((group.self() ^ distance) & -distance, distance))
        writer.send(peer, piece);
      for (const Piece& piece : members(group.self() & -distance, distance))
        writer.receive_reduce(peer, piece);
    }
    for (int distance = 1; distance < group.size(); distance *= 2) {
      const int peer = group.rank_of(group.self() ^ distance);
      for (const Piece& piece : members(group.self() & -distance, distance))
        writer.send(peer, piece);
      for (const Piece& piece : members((group.self() ^ distance) & -distance, distance))
        writer.receive(peer, piece);
    }
  });
  return program;
}

}  // namespace fastgpu::comm
