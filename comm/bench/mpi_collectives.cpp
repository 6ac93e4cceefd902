// bench_comm_mpi: times MPI's collectives as fastgpu-comm-bench does ours. Run it by mpirun.
#include <mpi.h>

#include "comm/bench/bench_program.hpp"
#include "comm/bench/measure.hpp"
#include "comm/bench/mpi_library.hpp"

int main(int count, char** arguments) {
  using namespace fastgpu::comm::bench;
  MPI_Init(&count, &arguments);
  const BenchProgram program{
      .name = "bench_comm_mpi",
      .about = "Times MPI's collectives. Rank 0 prints a line of JSON a result.",
      .options = {}};
  const int code = run_program(program, {arguments, static_cast<std::size_t>(count)},
                               [&](const BenchSettings& settings) {
                                 refuse_ours(program, settings);
                                 MpiLibrary library;
                                 measure_collectives(library, settings, print_result);
                               });
  if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);  // Other ranks may wait for this one.
  MPI_Finalize();
}
