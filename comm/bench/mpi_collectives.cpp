// Times MPI_Allreduce as collectives.cpp times our all_reduce: the same batches, the same lines.
#include <mpi.h>

#include <cstddef>
#include <vector>

#include "comm/bench/timing.hpp"

int main(int count, char** arguments) {
  using namespace fastgpu::comm::bench;
  MPI_Init(&count, &arguments);
  const Settings settings = settings_of(count, arguments);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<float> data(settings.most / sizeof(float));
  if (rank == 0) print_header("MPI_Allreduce in place", ranks, settings);
  for (std::size_t bytes = settings.least; bytes <= settings.most; bytes *= settings.factor) {
    const int elements = static_cast<int>(bytes / sizeof(float));
    double seconds = median_seconds(
        bytes,
        [&] {
          MPI_Allreduce(MPI_IN_PLACE, data.data(), elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        },
        [] { MPI_Barrier(MPI_COMM_WORLD); });
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) print_line(bytes, seconds, ranks, settings.collective);
  }
  MPI_Finalize();
}
