// Times collectives of libfastgpu_comm. Run one process per rank: under mpirun, with
// FASTGPU_COMM_MASTER_ADDR and FASTGPU_COMM_MASTER_PORT set.
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "comm/bench/timing.hpp"
#include "comm/communicator.hpp"
#include "comm/rendezvous.hpp"

namespace fastgpu::comm::bench {
namespace {

constexpr Reduction kSum{ElementType::float32, ReduceOp::sum};

void call(Communicator& comm, const Settings& settings, std::span<std::byte> data,
          std::span<std::byte> other) {
  const std::size_t block = data.size() / static_cast<std::size_t>(comm.size()) / 4 * 4;
  const std::size_t whole = block * static_cast<std::size_t>(comm.size());
  if (settings.collective == "reduce_scatter")
    comm.reduce_scatter(data.first(whole), other.first(block), kSum);
  else if (settings.collective == "all_gather")
    comm.all_gather(other.first(block), data.first(whole));
  else if (settings.collective == "all_to_all")
    comm.all_to_all(data.first(whole), other.first(whole));
  else if (settings.collective == "broadcast")
    comm.broadcast(data, {0});
  else if (settings.collective == "barrier")
    comm.barrier();
  else
    comm.all_reduce(data, kSum);
}

double slowest(Communicator& comm, double seconds) {
  comm.all_reduce(std::span(&seconds, 1), ReduceOp::max);
  return seconds;
}

void run(const Settings& settings) {
  Communicator comm(join(job_place(process_environment())));
  std::vector<std::byte> own(settings.buffers == "heap" ? 0 : 2 * settings.most);
  const auto memory =
      settings.buffers == "heap" ? comm.allocate(2 * settings.most) : std::span(own);
  std::ranges::fill(memory, std::byte{0});
  if (comm.rank() == Rank{0}) print_header("libfastgpu_comm", comm.size(), settings);
  for (std::size_t bytes = settings.least; bytes <= settings.most; bytes *= settings.factor) {
    const auto data = memory.first(bytes);
    const auto other = memory.subspan(settings.most, bytes);
    const double seconds = slowest(
        comm, median_seconds(
                  bytes, [&] { call(comm, settings, data, other); }, [&] { comm.barrier(); }));
    if (comm.rank() == Rank{0}) print_line(bytes, seconds, comm.size(), settings.collective);
  }
  comm.barrier();
}

}  // namespace
}  // namespace fastgpu::comm::bench

int main(int count, char** arguments) {
  try {
    fastgpu::comm::bench::run(fastgpu::comm::bench::settings_of(count, arguments));
  } catch (const fastgpu::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
