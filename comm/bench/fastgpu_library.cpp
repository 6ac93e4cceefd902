#include "comm/bench/fastgpu_library.hpp"

namespace fastgpu::comm::bench {

void FastgpuLibrary::run(const BenchCall& call) {
  const Reduction sum{call.type, ReduceOp::sum};
  switch (call.collective) {
    case BenchCollective::all_reduce:
      return communicator_.all_reduce(call.in, sum);
    case BenchCollective::reduce_scatter:
      return communicator_.reduce_scatter(call.in, call.out, sum);
    case BenchCollective::all_gather:
      return communicator_.all_gather(call.in, call.out);
    case BenchCollective::broadcast:
      return communicator_.broadcast(call.in, {0});
    case BenchCollective::all_to_all:
      return communicator_.all_to_all(call.in, call.out);
    case BenchCollective::message:
      if (rank() == 0) return communicator_.send(call.in, {1});
      if (rank() == 1) return communicator_.receive(call.out, {0});
      return;
    case BenchCollective::ping_pong:
      if (rank() == 0) communicator_.send(call.in, {1});
      if (rank() == 0) return communicator_.receive(call.out, {1});
      if (rank() == 1) communicator_.receive(call.out, {0});
      if (rank() == 1) return communicator_.send(call.out, {0});
      return;
    case BenchCollective::barrier:
      return communicator_.barrier();
  }
}

double FastgpuLibrary::greatest(double number) {
  communicator_.all_reduce(std::span(&number, 1), ReduceOp::max);
  return number;
}

std::span<std::byte> FastgpuLibrary::memory(std::size_t bytes) {
  return buffers_ == Buffers::heap ? communicator_.allocate(bytes) : BenchLibrary::memory(bytes);
}

}  // namespace fastgpu::comm::bench
