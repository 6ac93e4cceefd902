#include "comm/bench/mpi_library.hpp"

#include <mpi.h>

#include <limits>

#include "base/error.hpp"
#include "comm/mpi/types.hpp"

namespace fastgpu::comm::bench {
namespace {

/// A count and its unit: numbers if they are added, else bytes.
struct Counted {
  int count;
  MPI_Datatype type;
};

Counted counted(const BenchCall& call, std::size_t bytes) {
  const MPI_Datatype type = mpi_type(call.type);
  const bool is_known = type != MPI_DATATYPE_NULL;
  const std::size_t count = is_known ? bytes / size_of(call.type) : bytes;
  if (count > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Error(ErrorKind::usage,
                "--sizes: MPI counts no further than 2^31: " + std::to_string(count));
  return {static_cast<int>(count), is_known ? type : MPI_BYTE};
}

}  // namespace

int MpiLibrary::rank() const {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int MpiLibrary::ranks() const {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

void MpiLibrary::check_has(const BenchCall& call) const {
  if (is_reduction(call.collective) && mpi_type(call.type) == MPI_DATATYPE_NULL)
    throw Error(ErrorKind::usage,
                "--dtype " + std::string(comm::name_of(call.type)) + ": MPI adds no such numbers");
}

void MpiLibrary::run(const BenchCall& call) {
  const Counted in = counted(call, call.in.size());
  const Counted out = counted(call, call.out.size());
  switch (call.collective) {
    case BenchCollective::all_reduce:
      MPI_Allreduce(MPI_IN_PLACE, call.out.data(), out.count, out.type, MPI_SUM, MPI_COMM_WORLD);
      return;
    case BenchCollective::reduce_scatter:
      MPI_Reduce_scatter_block(call.in.data(), call.out.data(), out.count, out.type, MPI_SUM,
                               MPI_COMM_WORLD);
      return;
    case BenchCollective::all_gather:
      MPI_Allgather(call.in.data(), in.count, in.type, call.out.data(), in.count, in.type,
                    MPI_COMM_WORLD);
      return;
    case BenchCollective::broadcast:
      MPI_Bcast(call.in.data(), in.count, in.type, 0, MPI_COMM_WORLD);
      return;
    case BenchCollective::all_to_all: {
      const int block = in.count / ranks();
      MPI_Alltoall(call.in.data(), block, in.type, call.out.data(), block, in.type, MPI_COMM_WORLD);
      return;
    }
    case BenchCollective::message:
      if (rank() == 0) MPI_Send(call.in.data(), in.count, in.type, 1, 0, MPI_COMM_WORLD);
      if (rank() == 1)
        MPI_Recv(call.out.data(), out.count, out.type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      return;
    case BenchCollective::ping_pong:
      if (rank() == 0) MPI_Send(call.in.data(), in.count, in.type, 1, 0, MPI_COMM_WORLD);
      if (rank() <= 1)
        MPI_Recv(call.out.data(), out.count, out.type, 1 - rank(), 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
      if (rank() == 1) MPI_Send(call.out.data(), out.count, out.type, 0, 0, MPI_COMM_WORLD);
      return;
    case BenchCollective::barrier:
      return barrier();
  }
}

void MpiLibrary::barrier() {
  MPI_Barrier(MPI_COMM_WORLD);
}

double MpiLibrary::greatest(double number) {
  MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return number;
}

}  // namespace fastgpu::comm::bench
