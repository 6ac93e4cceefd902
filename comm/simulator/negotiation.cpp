#include "comm/simulator/negotiation.hpp"

#include "comm/schedule/tree.hpp"

namespace fastgpu::comm {

Program coordinated_negotiation(Place place, const CoordinatorMessages& messages) {
  Program program;
  Writer writer(program);
  const Part mine = whole_of(messages.request);
  if (place.self > 0) {
    writer.send(0, {mine, 0});
  } else {
    for (int rank = 1; rank < place.ranks; ++rank) {
      const Part request{Buffer::scratch, program.scratch, messages.request};
      writer.receive(rank, {request, 0});
      program.scratch += messages.request;
    }
    for (int rank = 1; rank < place.ranks; ++rank)
      writer.reduce(mine, {Buffer::scratch, messages.request * unsigned(rank - 1), mine.count});
  }
  return then(program, broadcast_by_tree(place, 0, messages.response, {}));
}

}  // namespace fastgpu::comm
