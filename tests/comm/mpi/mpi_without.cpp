// One rank under mpirun, of a program that knows nothing of MPI: mpi_without CASE
#include <cstdlib>
#include <string_view>

#include "mpi_ranks.hpp"

namespace fastgpu::comm::test {
namespace {

void meet(Communicator& comm) {
  check_sum(comm);
  comm.barrier();
}

int run(std::string_view name) {
  return status_of([&] {
    Communicator comm = join_job();
    meet(comm);
    if (name == "fails" && comm.rank().value == comm.size() - 1) std::exit(3);
    if (name == "ends" && comm.rank().value == comm.size() - 1) std::exit(0);  // It stays joined.
    if (name == "fails" || name == "ends") meet(comm);
    if (name != "twice") return;
    Communicator again = join_job();
    meet(again);
    meet(comm);
  });
}

}  // namespace
}  // namespace fastgpu::comm::test

int main(int count, char** arguments) {
  return fastgpu::comm::test::run(count > 1 ? arguments[1] : "");
}
