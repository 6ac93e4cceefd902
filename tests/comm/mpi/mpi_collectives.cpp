// One rank under mpirun: collectives by MPI beside ours, in the same process: mpi_collectives CASE
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "mpi_ranks.hpp"

namespace {

/// All-reduces that MPI was asked for.
int& asked() {
  static int count = 0;
  return count;
}

}  // namespace

// In place of MPI's own, which it calls.
extern "C" int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request* request) {
  ++asked();
  return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}

namespace fastgpu::comm::test {
namespace {

constexpr std::size_t kLengths[] = {0, 1, 257, 70'001};

Communicator join_with(const std::string& collectives) {
  return Communicator(join(job_place([&](const std::string& name) {
    return name == "FASTGPU_COMM_COLLECTIVES" ? collectives : process_environment()(name);
  })));
}

/// The same jobs, whose collectives are run by MPI and by us.
struct Pair {
  Communicator mpi;
  Communicator ours;

  std::size_t size() const { return static_cast<std::size_t>(ours.size()); }
};

/// Small whole numbers, whose sums and quotients are the same in any order.
template <class T>
std::vector<T> numbers(const Pair& pair, std::size_t count) {
  std::vector<T> made(count);
  const auto own = static_cast<std::size_t>(pair.ours.rank().value * 5);
  for (std::size_t i = 0; i < count; ++i)
    made[i] = static_cast<T>(static_cast<int>((i * 7 + own) % 13) - (std::is_signed_v<T> ? 6 : 0));
  return made;
}

template <class T>
void check_reductions(Pair& pair, ReduceOp op) {
  const std::string what = std::string(name_of(op)) + " of " +
                           std::string(name_of(kElementType<T>)) + ": not what ours is";
  for (const std::size_t length : kLengths) {
    auto ours = numbers<T>(pair, length);
    auto theirs = ours;
    const int before = asked();
    pair.mpi.all_reduce(std::span(theirs), op);
    // MPI's sums of bytes may saturate, and ours wrap: MPI is not asked for them.
    const int wanted = sizeof(T) == 1 ? 0 : 1;
    expect(asked() == before + wanted, "MPI was asked for another number of times: " + what);
    pair.ours.all_reduce(std::span(ours), op);
    expect(asked() == before + wanted && ours == theirs, "all_reduce, " + what);

    const auto all = numbers<T>(pair, length * pair.size());
    const auto bytes = std::as_bytes(std::span(all));
    const Reduction reduction{kElementType<T>, op};
    pair.mpi.reduce_scatter(bytes, std::as_writable_bytes(std::span(theirs)), reduction);
    pair.ours.reduce_scatter(bytes, std::as_writable_bytes(std::span(ours)), reduction);
    expect(ours == theirs, "reduce_scatter, " + what);
  }
}

template <class... Types>
void check_types(Pair& pair) {
  for (const ReduceOp op :
       {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max, ReduceOp::product})
    (check_reductions<Types>(pair, op), ...);
}

void check_short_types(Pair& pair) {
  std::vector<Float16> values(100);
  const int before = asked();
  pair.mpi.all_reduce(std::span(values), ReduceOp::sum);
  expect(asked() == before, "MPI was asked for a float16");
}

void check_copies(Pair& pair) {
  using Bytes = std::vector<std::int8_t>;
  const auto written = [](Bytes& bytes) { return std::as_writable_bytes(std::span(bytes)); };
  for (const std::size_t length : kLengths) {
    const Bytes mine = numbers<std::int8_t>(pair, length);
    const Bytes out = numbers<std::int8_t>(pair, length * pair.size());
    const auto run = [&](Communicator& comm) {
      Bytes gathered(out.size());
      comm.all_gather(std::as_bytes(std::span(mine)), written(gathered));
      Bytes in_place = out;
      const std::size_t own = length * static_cast<std::size_t>(comm.rank().value);
      comm.all_gather(std::as_bytes(std::span(in_place)).subspan(own, length), written(in_place));
      Bytes in(out.size());
      comm.all_to_all(std::as_bytes(std::span(out)), written(in));
      Bytes told = mine;
      comm.broadcast(written(told), {comm.size() - 1});
      comm.barrier();
      return std::vector{gathered, in_place, in, told};
    };
    expect(run(pair.mpi) == run(pair.ours), "copies of " + std::to_string(length) + " bytes");
  }
}

/// Several at once, and of a group whose ranks stand the other way round.
void check_groups(Pair& pair) {
  const int rank = pair.mpi.rank().value;
  auto group = pair.mpi.split(rank % 2, -rank);
  expect(group->rank().value == (group->size() - 1) - rank / 2, "the group's order");
  std::vector<std::vector<float>> values(8, std::vector<float>(5'000, 1));
  std::vector<Handle> handles;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Communicator& comm = i % 2 == 0 ? pair.mpi : *group;
    handles.push_back(comm.start_all_reduce(std::as_writable_bytes(std::span(values[i])),
                                            {ElementType::float32, ReduceOp::sum}));
  }
  for (std::size_t i = values.size(); i-- > 0;) {
    const Communicator& comm = i % 2 == 0 ? pair.mpi : *group;
    handles[i].wait();
    expect(values[i].back() == static_cast<float>(comm.size()), "one of several at once");
  }
}

/// MPI's collectives are counted as those of a link, and ours are not.
void check_link() {
  Communicator comm = join_with("mpi");
  std::vector<float> values(100);
  comm.all_reduce(std::span(values), ReduceOp::sum);
  comm.broadcast(std::as_writable_bytes(std::span(values)), {0});
  const LinkCounters link = comm.links().front();
  const std::uint64_t given = comm.rank() == Rank{0} ? 800 : 400;
  expect(link.name == "mpi collectives", "MPI is a link: " + link.name);
  expect(link.frames_sent == 2 && link.frames_received == 2, "with a frame for each call");
  expect(link.bytes_sent == given && link.bytes_received == 1200 - given, "and its bytes");
  const auto ours = join_with("ours").links();
  expect(std::ranges::find(ours, link.name, &LinkCounters::name) == ours.end(), "ours are none");
}

void check_everything() {
  check_link();
  Pair pair{join_with("mpi"), join_with("ours")};
  check_types<float, double, std::int32_t, std::int64_t, std::int8_t, std::uint8_t>(pair);
  check_short_types(pair);
  check_copies(pair);
  check_groups(pair);
  pair.ours.barrier();
}

/// Rank 0 waits for an all-reduce that no other rank comes to.
void wait_in_vain() {
  Communicator comm = join_with("mpi");
  float value = 1;
  const auto bytes = std::as_writable_bytes(std::span(&value, 1));
  if (comm.rank() == Rank{0})
    comm.all_reduce(std::span(&value, 1), ReduceOp::sum);
  else
    comm.receive(bytes, {0});
}

}  // namespace
}  // namespace fastgpu::comm::test

int main(int count, char** arguments) {
  using namespace fastgpu::comm::test;
  int level = 0;
  const bool is_vain = count > 1 && std::string_view(arguments[1]) == "in-vain";
  MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &level);
  const int status = is_vain ? status_of(wait_in_vain) : status_of(check_everything);
  if (status == 0) MPI_Finalize();  // A rank that failed waits for nobody.
  return status;
}
