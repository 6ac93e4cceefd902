#include "comm/mpi/mpi_world.hpp"

#include <poll.h>

#include <algorithm>
#include <memory>

#include "comm/common/adaptive_wait.hpp"
#include "comm/common/process_end.hpp"

namespace fastgpu::comm::mpi {
namespace {

/// The yields of the core within which ranks that start together arrive.
constexpr int kYields = 1000;

std::string_view name_of(ThreadLevel level) {
  switch (level) {
    case ThreadLevel::single:
      return "MPI_THREAD_SINGLE";
    case ThreadLevel::funneled:
      return "MPI_THREAD_FUNNELED";
    case ThreadLevel::serialized:
      return "MPI_THREAD_SERIALIZED";
    case ThreadLevel::multiple:
      return "MPI_THREAD_MULTIPLE";
  }
  return "an unknown level";
}

}  // namespace

MpiWorld::MpiWorld(const Member& me, Deadline deadline) : library_(me.plugin), rank_(me.rank) {
  start_.before_end = process_is_ending;
  library_.check(library_->begin(&start_), "initialising MPI");
  if (start_.is_over) throw refusal("the program has called MPI_Finalize already");
  if (start_.rank != me.rank.value || start_.size != me.size)
    throw refusal("MPI counts this process as rank " + std::to_string(start_.rank) + " of " +
                  std::to_string(start_.size) + ", and the environment as rank " +
                  std::to_string(me.rank.value) + " of " + std::to_string(me.size) +
                  ": start all ranks by one mpirun, of the MPI that the plugin was built for");
  if (start_.level < ThreadLevel::serialized && !start_.is_main_thread)
    throw refusal("the program has initialised MPI with " + std::string(name_of(start_.level)) +
                  " in another thread: join the job in that one");
  Request* request = nullptr;
  library_.check(library_->duplicate_world(&everybody_, &request), "MPI_Comm_idup");
  if (!ends_in_time(request, deadline, "MPI_Comm_idup"))
    throw Error(ErrorKind::timeout, "rank " + std::to_string(rank_.value) +
                                        ": not all ranks have come to meet by MPI in time: each "
                                        "must join, with the same FASTGPU_COMM variables");
}

void MpiWorld::need_threads(std::string_view for_what) const {
  if (start_.level == ThreadLevel::multiple) return;
  const std::string level(name_of(start_.level));
  throw refusal(std::string(for_what) + " needs MPI_THREAD_MULTIPLE, and " +
                (start_.is_ours ? "this MPI offers only " + level
                                : "the program has initialised MPI with " + level +
                                      ": ask for more by MPI_Init_thread, or leave it to this "
                                      "library"));
}

void MpiWorld::broadcast(std::span<std::byte> bytes, Deadline deadline) const {
  auto memory = std::make_unique<std::byte[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), memory.get());
  const PluginCollective what{.data = memory.get(), .count = static_cast<int>(bytes.size())};
  Request* request = nullptr;
  library_.check(library_->broadcast(everybody_, &what, &request), "MPI_Ibcast");
  if (!ends_in_time(request, deadline, "MPI_Ibcast")) {
    static_cast<void>(memory.release());  // MPI may write there as long as the process exists.
    throw Error(ErrorKind::timeout,
                "rank " + std::to_string(rank_.value) + ": rank 0 has sent nothing by MPI in time");
  }
  std::copy_n(memory.get(), bytes.size(), bytes.begin());
}

Error MpiWorld::refusal(const std::string& why) const {
  return {ErrorKind::usage, "rank " + std::to_string(rank_.value) + ": " + why};
}

bool MpiWorld::ends_in_time(Request* request, Deadline deadline, std::string_view doing) const {
  SpinPolicy policy;
  AdaptiveWait adaptive_wait(policy, kYields);
  for (int is_done = 0;;) {
    library_.check(library_->test(request, &is_done), doing);
    if (is_done != 0) return true;
    if (deadline.passed()) return false;
    if (adaptive_wait.pause()) ::poll(nullptr, 0, 1);
  }
}

}  // namespace fastgpu::comm::mpi
