#include "comm/algorithms/dissemination.hpp"

namespace fastgpu::comm {

void dissemination_barrier(Transport& transport, const Call& call) {
  const int ranks = transport.size();
  const int self = transport.rank().value;
  const EncodedCall mine = encode(call);
  for (int distance = 1; distance < ranks; distance *= 2) {
    const Rank from{(self + ranks - distance) % ranks};
    EncodedCall theirs;
    transport.exchange({(self + distance) % ranks}, mine, from, theirs);
    check_same(call, theirs, from);
  }
}

}  // namespace fastgpu::comm
