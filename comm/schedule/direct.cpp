#include "comm/schedule/direct.hpp"

namespace fastgpu::comm {
namespace {

/// The two halves of a collective, one piece of every slice at a time.
class DirectExchange {
 public:
  DirectExchange(RankPlace place, std::uint64_t count, Cut cut, Program& program)
      : place_(place), count_(count), cut_(cut), writer_(program) {}

  /// Moves all contributions to their owners.
  void contribute(int piece) {
    for (int by = 1; by < place_.ranks; ++by) {
      writer_.send(place_.right(by), piece_at(place_.right(by), piece));
      writer_.receive_reduce(place_.left(by), piece_at(place_.self, piece));
    }
  }

  /// Moves the owners' results to all ranks.
  void distribute(int piece) {
    for (int by = 1; by < place_.ranks; ++by) {
      writer_.send(place_.right(by), piece_at(place_.self, piece));
      writer_.receive(place_.left(by), piece_at(place_.left(by), piece));
    }
  }

 private:
  Piece piece_at(int owner, int piece) const {
    return piece_of(slice_of(whole_of(count_), owner, place_.ranks), piece, cut_);
  }

  RankPlace place_;
  std::uint64_t count_;
  Cut cut_;
  Writer writer_;
};

}  // namespace

Program reduce_scatter_directly(RankPlace place, std::uint64_t count, Cut cut) {
  Program program;
  DirectExchange exchange(place, count, cut, program);
  for (int piece = 0; piece < cut.pieces; ++piece)
    exchange.contribute(piece);
  return program;
}

Program all_gather_directly(RankPlace place, std::uint64_t count, Cut cut) {
  Program program;
  DirectExchange exchange(place, count, cut, program);
  for (int piece = 0; piece < cut.pieces; ++piece)
    exchange.distribute(piece);
  return program;
}

Program all_reduce_directly(RankPlace place, std::uint64_t count, Cut cut) {
  Program program;
  DirectExchange exchange(place, count, cut, program);
  // The next contributions go ahead of the results, which would hold them up on their channel.
  for (int piece = 0; piece <= cut.pieces; ++piece) {
    if (piece < cut.pieces) exchange.contribute(piece);
    if (piece > 0) exchange.distribute(piece - 1);
  }
  return program;
}

Program broadcast_directly(RankPlace place, int root, std::uint64_t count) {
  Program program;
  Writer writer(program);
  if (place.self != root) {
    writer.receive(root, {whole_of(count), 0});
    return program;
  }
  for (int by = 1; by < place.ranks; ++by)
    writer.send(place.right(by), {whole_of(count), 0});
  return program;
}

Program barrier_directly(RankPlace place) {
  Program program;
  Writer writer(program);
  program.scratch = static_cast<std::uint64_t>(place.ranks);
  const auto token_of = [](int rank) {
    return Part{Buffer::scratch, static_cast<std::uint64_t>(rank), 1};
  };
  for (int by = 1; by < place.ranks; ++by) {
    writer.send(place.right(by), {token_of(place.self), 0});
    writer.receive(place.left(by), {token_of(place.left(by)), 0});
  }
  return program;
}

namespace {

Part block_of(Buffer buffer, std::uint64_t block, int rank) {
  return {buffer, block * static_cast<std::uint64_t>(rank), block};
}

}  // namespace

Program all_gather_blocks(RankPlace place, std::uint64_t block, Cut cut) {
  Program program;
  Writer writer(program);
  const Part mine{Buffer::input, 0, block};
  for (int piece = 0; piece < cut.pieces; ++piece)
    for (int by = 1; by < place.ranks; ++by) {
      const int from = place.left(by);
      writer.send(place.right(by), piece_of(mine, piece, cut));
      writer.receive(from, piece_of(block_of(Buffer::data, block, from), piece, cut));
    }
  writer.copy(block_of(Buffer::data, block, place.self), mine);
  return program;
}

Program all_to_all(RankPlace place, std::uint64_t block, Cut cut) {
  Program program;
  Writer writer(program);
  for (int piece = 0; piece < cut.pieces; ++piece)
    for (int by = 1; by < place.ranks; ++by) {
      const int to = place.right(by);
      const int from = place.left(by);
      writer.send(to, piece_of(block_of(Buffer::input, block, to), piece, cut));
      writer.receive(from, piece_of(block_of(Buffer::data, block, from), piece, cut));
    }
  // Last: the others can read theirs meanwhile.
  writer.copy(block_of(Buffer::data, block, place.self),
              block_of(Buffer::input, block, place.self));
  return program;
}

}  // namespace fastgpu::comm
