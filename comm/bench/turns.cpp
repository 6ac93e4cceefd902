// bench_comm_turns: times libfastgpu_comm and MPI in one process, in turns, each with data in the
// program's memory and in memory of the library. Run it by mpirun, with the variables of the job.
#include <mpi.h>

#include <array>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/bench/bench_program.hpp"
#include "comm/bench/fastgpu_library.hpp"
#include "comm/bench/measure.hpp"
#include "comm/bench/mpi_library.hpp"
#include "comm/common/variables.hpp"
#include "comm/communicator/join.hpp"

namespace fastgpu::comm::bench {
namespace {

Caches caches_of(const std::string& word) {
  if (word == "warm") return Caches::warm;
  if (word == "cold") return Caches::cold;
  throw Error(ErrorKind::usage, "--caches '" + printable(word) + "' is none of warm, cold");
}

/// Memory that MPI allocates.
class MpiMemory {
 public:
  explicit MpiMemory(std::size_t bytes) : bytes_(bytes) {
    MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, static_cast<void*>(&data_));
  }
  MpiMemory(const MpiMemory&) = delete;
  MpiMemory& operator=(const MpiMemory&) = delete;
  ~MpiMemory() { MPI_Free_mem(data_); }

  std::span<std::byte> span() const { return {static_cast<std::byte*>(data_), bytes_}; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

void run(const BenchSettings& settings, Caches caches) {
  check_variables(process_variables());
  Communicator communicator(join(job_place(process_environment())));
  FastgpuLibrary ours(communicator, Buffers::heap);
  FastgpuLibrary ours_private(communicator, Buffers::own);
  MpiLibrary mpi;
  if (ours.rank() != mpi.rank() || ours.ranks() != mpi.ranks())
    throw Error(ErrorKind::usage, "RANK and WORLD_SIZE are not those of mpirun: unset them");
  const std::size_t bytes = memory_in_turns(settings, mpi.ranks()).count;
  const MpiMemory of_mpi(bytes);
  const std::array contestants = {Contestant{ours_private, "fastgpu", ours_private.memory(bytes)},
                                  Contestant{mpi, "Open MPI", mpi.memory(bytes)},
                                  Contestant{ours, "fastgpu, its memory", ours.memory(bytes)},
                                  Contestant{mpi, "Open MPI, its memory", of_mpi.span()}};
  measure_in_turns(contestants, settings, caches, print_result);
}

}  // namespace
}  // namespace fastgpu::comm::bench

int main(int count, char** arguments) {
  using namespace fastgpu::comm::bench;
  MPI_Init(&count, &arguments);
  std::string caches = "warm";
  const BenchProgram program{
      .name = "bench_comm_turns",
      .about = "Times libfastgpu_comm and MPI in turns. Rank 0 prints a line of JSON a result.",
      .options = {{"--caches", "State of the caches before a call: warm or cold (warm)", &caches}}};
  const int code = run_program(program, {arguments, static_cast<std::size_t>(count)},
                               [&](const BenchSettings& all) {
                                 refuse_ours(program, all);
                                 run(all, caches_of(caches));
                               });
  if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);  // Other ranks may wait for this one.
  MPI_Finalize();
}
