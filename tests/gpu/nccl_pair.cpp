// Two ranks of NCCL on one GPU: two processes, each of which NCCL takes for another host's. Sums
// and averages are right on both. Exit status 77 where there is no GPU or no NCCL.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/gpu/kernels.hpp"
#include "comm/gpu/nccl.hpp"

namespace fastgpu::comm::gpu {
namespace {

constexpr int kSkipped = 77;
constexpr std::size_t kCount = 100'003;

/// Copies from rank 0 to rank 1 through the socket that joins them.
BroadcastFromZero broadcast_over(int socket, Rank rank) {
  return [socket, rank](std::span<std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t moved = rank == Rank{0} ? ::write(socket, bytes.data(), bytes.size())
                                            : ::read(socket, bytes.data(), bytes.size());
      if (moved <= 0) throw Error(ErrorKind::remote, "the other rank has gone");
      bytes = bytes.subspan(static_cast<std::size_t>(moved));
    }
  };
}

/// Elements of `data` that are not `expected` after an all-reduce of ranks that give 1 and 2.
std::size_t wrong_after(NcclCommunicator& ranks, ReduceOp op, float expected) {
  const std::vector<float> mine(kCount, static_cast<float>(ranks.rank().value + 1));
  std::vector<float> result(kCount);
  const DeviceBuffer data(kCount * sizeof(float));
  const GpuStream stream;
  copy_async(data.span(), std::as_bytes(std::span(mine)), stream.handle());
  ranks.all_reduce(data.span(), {ElementType::float32, op}, stream.handle());
  copy_async(std::as_writable_bytes(std::span(result)), data.span(), stream.handle());
  stream.synchronize();
  ranks.check_health();
  std::size_t wrong = 0;
  for (const float value : result)
    wrong += value != expected ? 1 : 0;
  return wrong;
}

int run_rank(int socket, Rank rank) {
  ::setenv("NCCL_HOSTID", ("rank-" + std::to_string(rank.value)).c_str(), 1);
  try {
    if (device_count() == 0) return kSkipped;
    const NcclLibrary library;
    NcclCommunicator ranks(library, rank, 2, broadcast_over(socket, rank));
    const std::size_t wrong =
        wrong_after(ranks, ReduceOp::sum, 3) + wrong_after(ranks, ReduceOp::average, 1.5F) +
        wrong_after(ranks, ReduceOp::max, 2) + wrong_after(ranks, ReduceOp::product, 2);
    std::printf("rank %d: NCCL %d, %zu wrong\n", rank.value, library.version(), wrong);
    return wrong == 0 ? 0 : 1;
  } catch (const Error& e) {
    std::fprintf(stderr, "rank %d: %s\n", rank.value, e.what());
    return e.kind() == ErrorKind::not_found ? kSkipped : 1;
  }
}

/// The exit status of the test: that of the first rank which has something to say.
int run_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return 1;
  pid_t children[2];
  for (int rank = 0; rank < 2; ++rank) {
    children[rank] = ::fork();  // Before anything of CUDA, which does not survive it.
    if (children[rank] == 0) {
      ::alarm(120);  // One rank without the other waits for ever.
      ::close(ends[1 - rank]);
      const int status = run_rank(ends[rank], Rank{rank});
      std::fflush(nullptr);
      ::_exit(status);
    }
  }
  ::close(ends[0]);
  ::close(ends[1]);
  int result = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    const int said = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    if (result == 0 || said == 1) result = said;
  }
  return result;
}

}  // namespace
}  // namespace fastgpu::comm::gpu

int main() {
  return fastgpu::comm::gpu::run_pair();
}
