// One rank under mpirun: our collectives between processes, held against MPI's own.
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "comm/bench/number.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/communicator/join.hpp"
#include "comm/gradients/gradient_exchange.hpp"
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

constexpr std::size_t kShortLengths[] = {0, 1, 97, 257};
constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max,
                             ReduceOp::product};

MPI_Op mpi_op(ReduceOp op) {
  if (op == ReduceOp::min) return MPI_MIN;
  if (op == ReduceOp::max) return MPI_MAX;
  return op == ReduceOp::product ? MPI_PROD : MPI_SUM;
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

/// Whole numbers, few enough that every order of operations gives the same in every type, and an
/// average is whole too.
double number_at(std::size_t i, int rank, int ranks, Reduction reduction) {
  const auto third = static_cast<int>((i * 7 + static_cast<std::size_t>(rank * 5)) % 3);
  if (reduction.op == ReduceOp::product) return 1 + third % 2;
  return ranks * (reduction.type == ElementType::uint8 ? third : third - 1);
}

std::vector<double> numbers_of(Communicator& comm, std::size_t length, Reduction reduction) {
  std::vector<double> numbers(length);
  for (std::size_t i = 0; i < length; ++i)
    numbers[i] = number_at(i, comm.rank().value, comm.size(), reduction);
  return numbers;
}

/// Integers wrap.
template <class T>
T element_of(double number, T zero) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::int64_t>(number));
  else
    return bench::converted(static_cast<float>(number), zero);
}

std::vector<std::byte> elements_of(const std::vector<double>& numbers, ElementType type) {
  std::vector<std::byte> elements(numbers.size() * size_of(type));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    bench::with_type(type, [&](auto zero) {
      const auto element = element_of(numbers[i], zero);
      std::memcpy(elements.data() + i * sizeof element, &element, sizeof element);
    });
  return elements;
}

/// What MPI makes of the same numbers as float64.
std::vector<double> reduced_by_mpi(std::vector<double> numbers, ReduceOp op, int ranks) {
  MPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_DOUBLE,
                mpi_op(op), MPI_COMM_WORLD);
  if (op == ReduceOp::average)
    for (double& number : numbers)
      number /= ranks;
  return numbers;
}

std::string described(std::size_t length, Reduction reduction) {
  return std::string(name_of(reduction.op)) + " of " + std::to_string(length) + " " +
         std::string(name_of(reduction.type));
}

void check_all_reduce(Communicator& comm, std::size_t length, Reduction reduction) {
  const std::vector<double> numbers = numbers_of(comm, length, reduction);
  std::vector<std::byte> ours = elements_of(numbers, reduction.type);
  comm.all_reduce(std::span(ours), reduction);
  if (ours != elements_of(reduced_by_mpi(numbers, reduction.op, comm.size()), reduction.type))
    complain("all_reduce: " + described(length, reduction) + " is not MPI's");
}

/// `length` is that of a rank's block.
void check_reduce_scatter(Communicator& comm, std::size_t length, Reduction reduction) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::vector<double> numbers = numbers_of(comm, length * ranks, reduction);
  const std::vector<std::byte> all = elements_of(numbers, reduction.type);
  std::vector<std::byte> ours(length * size_of(reduction.type));
  comm.reduce_scatter(all, ours, reduction);
  const std::vector<double> sums = reduced_by_mpi(numbers, reduction.op, comm.size());
  const auto mine = sums.begin() + static_cast<std::ptrdiff_t>(
                                       length * static_cast<std::size_t>(comm.rank().value));
  const std::vector<double> block(mine, mine + static_cast<std::ptrdiff_t>(length));
  if (ours != elements_of(block, reduction.type))
    complain("reduce_scatter: " + described(length, reduction) + " is not MPI's");
}

/// By every algorithm, as by the usual one.
void check_reductions(Communicator& comm) {
  for (std::size_t way = 0; way <= kAlgorithms.size(); ++way) {
    if (way > 0) comm.use_plan({.algorithm = kAlgorithms[way - 1]});
    for (std::size_t type = 0; type < kElementTypes; ++type)
      for (const ReduceOp op : kOps)
        for (const std::size_t length : kShortLengths)
          check_all_reduce(comm, length, {static_cast<ElementType>(type), op});
  }
  comm.use_plan({});
  for (std::size_t type = 0; type < kElementTypes; ++type)
    for (const ReduceOp op : kOps)
      for (const std::size_t length : kShortLengths)
        check_reduce_scatter(comm, length, {static_cast<ElementType>(type), op});
}

/// Every rank to the one on its right.
void check_messages(Communicator& comm, std::size_t length) {
  const std::vector<std::int32_t> mine(length, comm.rank().value);
  std::vector<std::int32_t> theirs(length, -1);
  const int left = (comm.rank().value + comm.size() - 1) % comm.size();
  if (comm.size() == 1) return;
  Handle sent =
      comm.start_send(std::as_bytes(std::span(mine)), {(comm.rank().value + 1) % comm.size()});
  comm.receive(std::as_writable_bytes(std::span(theirs)), {left});
  sent.wait();
  if (theirs != std::vector<std::int32_t>(length, left)) complain("a message from the left");
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
  GradientExchange exchange(comm);
  exchange.add("a", std::span(a));
  exchange.add("b", std::span(b));
  for (int step = 1; step < 4; ++step) {
    a.assign(a.size(), static_cast<float>(comm.rank().value * step));
    b.assign(b.size(), comm.rank().value * step);
    exchange.all_reduce_gradients(ReduceOp::sum);
    const int sum = comm.size() * (comm.size() - 1) / 2 * step;
    if (a.back() != static_cast<float>(sum) || b.front() != sum) complain("gradients");
  }
}

void check_everything(Communicator& comm) {
  for (const std::size_t length : kLengths) {
    for (const ElementType type : {ElementType::float32, ElementType::bfloat16})
      check_all_reduce(comm, length, {type, ReduceOp::sum});
    check_messages(comm, length);
    check_all_gather(comm, length);
    check_all_to_all(comm, length);
    check_bits(comm, length);
  }
  check_reductions(comm);
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
