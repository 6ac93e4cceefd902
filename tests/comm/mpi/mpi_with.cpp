// One rank under mpirun, of a program that uses MPI itself: mpi_with CASE
#include <mpi.h>

#include <optional>
#include <string_view>
#include <thread>

#include "mpi_ranks.hpp"

namespace fastgpu::comm::test {
namespace {

/// Both go on beside each other.
void check_both(Communicator& comm) {
  check_sum(comm);
  int sum = 1;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(sum == comm.size(), "MPI counts " + std::to_string(sum) + " ranks");
}

/// A broadcast of the program's own is under way: it and the one of the meeting do not meet.
std::optional<Communicator> join_amid_broadcast() {
  int number = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &number);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  std::optional<Communicator> comm(join_job());
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  expect(number == 0, "the broadcast brought " + std::to_string(number));
  return comm;
}

void join_too_late() {
  MPI_Finalize();
  join_job();
}

void join_in_other_thread() {
  int status = 0;
  std::jthread([&] { status = status_of([] { join_job(); }); }).join();
  MPI_Finalize();
  expect(status == 0, "the other thread did not join");
}

void join_and_leave(std::string_view name) {
  auto comm = join_amid_broadcast();
  check_both(*comm);
  if (name == "finalized-last") comm.reset();
  MPI_Finalize();
  if (comm) check_sum(*comm);
}

int run(std::string_view name) {
  MPI_Init(nullptr, nullptr);
  if (name == "finalized") return status_of(join_too_late);
  if (name == "thread") return status_of(join_in_other_thread);
  return status_of([&] { join_and_leave(name); });
}

}  // namespace
}  // namespace fastgpu::comm::test

int main(int count, char** arguments) {
  return fastgpu::comm::test::run(count > 1 ? arguments[1] : "");
}
