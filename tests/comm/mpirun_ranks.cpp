// One rank under mpirun: our collectives between processes, held against MPI's own.
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "comm/entry/gradient_entry.hpp"
#include "comm/rendezvous.hpp"
#include "comm/rendezvous/endpoint.hpp"

namespace {

/// Messages that MPI was asked to send.
int& asked() {
  static int count = 0;
  return count;
}

}  // namespace

// In place of MPI's own, which it calls.
extern "C" int MPI_Issend(const void* data, int count, MPI_Datatype type, int to, int tag,
                          MPI_Comm comm, MPI_Request* request) {
  ++asked();
  return PMPI_Issend(data, count, type, to, tag, comm, request);
}

namespace fastgpu::comm {
namespace {

constexpr std::size_t kLengths[] = {0, 1, 97, 255, 257, 70'001, 1'000'003};

template <class T>
MPI_Datatype mpi_type();
template <>
MPI_Datatype mpi_type<float>() {
  return MPI_FLOAT;
}
template <>
MPI_Datatype mpi_type<double>() {
  return MPI_DOUBLE;
}
template <>
MPI_Datatype mpi_type<std::int32_t>() {
  return MPI_INT32_T;
}
template <>
MPI_Datatype mpi_type<std::int8_t>() {
  return MPI_INT8_T;
}

MPI_Op mpi_op(ReduceOp op) {
  if (op == ReduceOp::min) return MPI_MIN;
  if (op == ReduceOp::max) return MPI_MAX;
  return MPI_SUM;
}

/// Rank 0 chooses a port, and MPI tells the others.
Communicator join_by_mpi() {
  int port = 0;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    Endpoint loopback;
    loopback.address[0] = std::byte{127};
    loopback.address[3] = std::byte{1};
    port = local_end(listen_at(loopback).get()).port;
  }
  MPI_Bcast(&port, 1, MPI_INT, 0, MPI_COMM_WORLD);
  ::setenv("FASTGPU_COMM_MASTER_ADDR", "127.0.0.1", 1);
  ::setenv("FASTGPU_COMM_MASTER_PORT", std::to_string(port).c_str(), 1);
  return Communicator(join(job_place(process_environment())));
}

[[noreturn]] void complain(const std::string& what) {
  throw Error(ErrorKind::internal, what);
}

template <class T>
void check_all_reduce(Communicator& comm, std::size_t length, ReduceOp op) {
  std::vector<T> ours(length);
  for (std::size_t i = 0; i < length; ++i)
    ours[i] = static_cast<T>(
        static_cast<int>((i * 7 + static_cast<std::size_t>(comm.rank().value * 5)) % 13) - 6);
  std::vector<T> theirs = ours;
  comm.all_reduce(std::span(ours), op);
  MPI_Allreduce(MPI_IN_PLACE, theirs.data(), static_cast<int>(length), mpi_type<T>(), mpi_op(op),
                MPI_COMM_WORLD);
  // Small whole numbers: every order of additions gives the same.
  if (ours != theirs)
    complain(std::string(name_of(op)) + " of " + std::to_string(length) + " " +
             std::string(name_of(kElementType<T>)) + " is not MPI's");
}

void check_all_gather(Communicator& comm, std::size_t length) {
  const std::vector<std::int32_t> mine(length, comm.rank().value + 1);
  std::vector<std::int32_t> ours(length * static_cast<std::size_t>(comm.size()));
  std::vector<std::int32_t> theirs(ours.size());
  const auto count = static_cast<int>(length);
  comm.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(ours)));
  MPI_Allgather(mine.data(), count, MPI_INT32_T, theirs.data(), count, MPI_INT32_T, MPI_COMM_WORLD);
  if (ours != theirs) complain("all_gather of " + std::to_string(length) + " is not MPI's");
}

void check_all_to_all(Communicator& comm, std::size_t length) {
  std::vector<std::int32_t> out(length * static_cast<std::size_t>(comm.size()));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::int32_t>(i) * (comm.rank().value + 1);
  std::vector<std::int32_t> ours(out.size());
  std::vector<std::int32_t> theirs(out.size());
  const auto count = static_cast<int>(length);
  comm.all_to_all(std::as_bytes(std::span(out)), std::as_writable_bytes(std::span(ours)));
  MPI_Alltoall(out.data(), count, MPI_INT32_T, theirs.data(), count, MPI_INT32_T, MPI_COMM_WORLD);
  if (ours != theirs) complain("all_to_all of " + std::to_string(length) + " is not MPI's");
}

/// Fractions, whose sums are rounded: the same bits on every rank, and every time.
void check_bits(Communicator& comm, std::size_t length) {
  std::vector<float> first;
  for (int time = 0; time < 2; ++time) {
    std::vector<float> values(length);
    for (std::size_t i = 0; i < length; ++i)
      values[i] =
          1.0F / static_cast<float>(i % 1000 + static_cast<std::size_t>(comm.rank().value) + 3);
    comm.all_reduce(std::span(values), ReduceOp::average);
    std::vector<float> of_root = values;
    comm.broadcast(std::as_writable_bytes(std::span(of_root)), {comm.size() - 1});
    if (values != of_root) complain("averages differ between ranks");
    if (time == 1 && values != first) complain("averages differ from time to time");
    first = values;
  }
}

void check_gradients(Communicator& comm) {
  std::vector<float> a(100'003);
  std::vector<double> b(77);
  GradientEntry entry(comm);
  entry.add("a", std::span(a));
  entry.add("b", std::span(b));
  for (int step = 1; step < 4; ++step) {
    a.assign(a.size(), static_cast<float>(comm.rank().value * step));
    b.assign(b.size(), comm.rank().value * step);
    entry.all_reduce_gradients(ReduceOp::sum);
    const int sum = comm.size() * (comm.size() - 1) / 2 * step;
    if (a.back() != static_cast<float>(sum) || b.front() != sum) complain("gradients");
  }
}

void check_everything(Communicator& comm) {
  for (const std::size_t length : kLengths) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
      check_all_reduce<float>(comm, length, op);
      check_all_reduce<double>(comm, length, op);
      check_all_reduce<std::int32_t>(comm, length, op);
      check_all_reduce<std::int8_t>(comm, length, op);
    }
    check_all_gather(comm, length);
    check_all_to_all(comm, length);
    check_bits(comm, length);
  }
  check_gradients(comm);
  comm.barrier();
  const Environment environment = process_environment();
  const bool is_by_mpi = environment("FASTGPU_COMM_TRANSPORT") == "mpi" &&
                         environment("FASTGPU_COMM_SHARED_MEMORY") == "0";
  if (is_by_mpi != (asked() > 0))
    complain("MPI was asked for " + std::to_string(asked()) + " messages");
}

}  // namespace
}  // namespace fastgpu::comm

int main(int count, char** arguments) {
  int level = 0;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &level);  // For collectives by MPI.
  int status = 0;
  try {
    fastgpu::comm::Communicator comm = fastgpu::comm::join_by_mpi();
    fastgpu::comm::check_everything(comm);
  } catch (const fastgpu::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    status = 1;
  }
  MPI_Finalize();
  return status;
}
