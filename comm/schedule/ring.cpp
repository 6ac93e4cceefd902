#include "comm/schedule/ring.hpp"

namespace fastgpu::comm {

Program reduce_scatter_by_ring(RankPlace place, std::uint64_t count, Cut cut) {
  Program program;
  Writer writer(program);
  const auto slice = [&](int owner) { return slice_of(whole_of(count), owner, place.ranks); };
  for (int step = 1; step < place.ranks; ++step)
    for (int piece = 0; piece < cut.pieces; ++piece) {
      writer.send(place.right(), piece_of(slice(place.left(step)), piece, cut));
      writer.receive_reduce(place.left(), piece_of(slice(place.left(step + 1)), piece, cut));
    }
  return program;
}

Program all_gather_by_ring(RankPlace place, std::uint64_t count, Cut cut) {
  Program program;
  Writer writer(program);
  const auto slice = [&](int owner) { return slice_of(whole_of(count), owner, place.ranks); };
  for (int step = 0; step < place.ranks - 1; ++step)
    for (int piece = 0; piece < cut.pieces; ++piece) {
      writer.send(place.right(), piece_of(slice(place.left(step)), piece, cut));
      writer.receive(place.left(), piece_of(slice(place.left(step + 1)), piece, cut));
    }
  return program;
}

Program all_reduce_by_ring(RankPlace place, std::uint64_t count, Cut cut) {
  return then(reduce_scatter_by_ring(place, count, cut), all_gather_by_ring(place, count, cut));
}

}  // namespace fastgpu::comm
