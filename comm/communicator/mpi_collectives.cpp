#include "comm/communicator/mpi_collectives.hpp"

#include <limits>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace fastgpu::comm::mpi {
namespace {

/// Returns the count that MPI wants for the call, which is the same for all its ranks.
std::uint64_t count_of(const Call& call, std::size_t of_result) {
  return is_reduction(call.kind) ? of_result / size_of(call.reduction.type) : call.bytes;
}

/// The bytes that a rank gives to a call, and those of its result there.
struct Traffic {
  std::uint64_t given = 0;
  std::uint64_t gotten = 0;
};

Traffic traffic_of(const Call& call, Rank self, const CollectiveBuffers& buffers) {
  const std::uint64_t result = buffers.data.size();
  switch (call.kind) {
    case CallKind::broadcast:
      return self == call.root ? Traffic{.given = result} : Traffic{.gotten = result};
    case CallKind::all_gather:
      return {call.bytes, result};
    default:
      return {buffers.input.empty() ? result : buffers.input.size(), result};
  }
}

class MpiCollective final : public OffloadedCollective {
 public:
  /// Counts itself, with `traffic`, once it has ended.
  MpiCollective(std::shared_ptr<const MpiWorld> world, std::shared_ptr<CollectiveCounts> counts,
                Group* group, CallKind kind, PluginCollective what, Traffic traffic)
      : world_(std::move(world)),
        counts_(std::move(counts)),
        group_(group),
        kind_(kind),
        what_(what),
        traffic_(traffic) {}

  std::string_view library() const noexcept override { return "MPI"; }

  void start() override { world_->library().check(begin(), "beginning it"); }

  bool test() override {
    int is_done = 0;
    world_->library().check(world_->library()->test(request_, &is_done), "running it");
    if (is_done != 0) counts_->count(traffic_.given, traffic_.gotten);
    return is_done != 0;
  }

 private:
  int begin() {
    const MpiPlugin& mpi = world_->library();
    switch (kind_) {
      case CallKind::barrier:
        return mpi->barrier(group_, &what_, &request_);
      case CallKind::all_reduce:
        return mpi->all_reduce(group_, &what_, &request_);
      case CallKind::broadcast:
        return mpi->broadcast(group_, &what_, &request_);
      case CallKind::all_gather:
        return mpi->all_gather(group_, &what_, &request_);
      case CallKind::reduce_scatter:
        return mpi->reduce_scatter(group_, &what_, &request_);
      case CallKind::all_to_all:
        return mpi->all_to_all(group_, &what_, &request_);
      case CallKind::split:
      case CallKind::message:
        break;
    }
    throw Error(ErrorKind::internal, "MPI does not run this call");
  }

  std::shared_ptr<const MpiWorld> world_;  ///< Shared with all who use MPI.
  std::shared_ptr<CollectiveCounts> counts_;
  Group* group_;
  CallKind kind_;
  PluginCollective what_;
  Traffic traffic_;
  Request* request_ = nullptr;
};

}  // namespace

bool has(const Call& call, int ranks) {
  if (call.kind == CallKind::split || call.kind == CallKind::message) return false;
  const bool is_short = size_of(call.reduction.type) == 2;
  if (is_reduction(call.kind) && is_short) return false;
  // Open MPI's sums of bytes saturate where the CPU has AVX, and ours wrap.
  if (is_reduction(call.kind) && size_of(call.reduction.type) == 1) return false;
  // Some of MPI's algorithms count all ranks' parts together.
  const std::uint64_t parts = is_reduction(call.kind) ? 1 : static_cast<std::uint64_t>(ranks);
  return count_of(call, call.bytes) * parts <=
         static_cast<std::uint64_t>(std::numeric_limits<int>::max());
}

LinkCounters CollectiveCounts::link() const {
  return {.name = "mpi collectives",
          .frames_sent = calls_,
          .frames_received = calls_,
          .bytes_sent = given_,
          .bytes_received = gotten_};
}

MpiCollectives::MpiCollectives(std::shared_ptr<const MpiWorld> world)
    : world_(std::move(world)), counts_(std::make_shared<CollectiveCounts>()) {
  world_->need_threads("FASTGPU_COMM_COLLECTIVES=mpi");
}

Group* MpiCollectives::group_of(std::span<const Rank> ranks, std::uint32_t number) const {
  std::vector<int> numbers;
  for (const Rank rank : ranks)
    numbers.push_back(rank.value);
  Group* made = nullptr;
  const MpiPlugin& mpi = world_->library();
  mpi.check(mpi->make_group(world_->everybody(), numbers.data(), static_cast<int>(numbers.size()),
                            static_cast<int>(number), &made),
            "MPI_Comm_create_group");
  return made;
}

std::shared_ptr<OffloadedCollective> MpiCollectives::prepare(
    Group* group, Rank self, const Call& call, const CollectiveBuffers& buffers) const {
  PluginCollective what{.data = buffers.data.data(),
                        .input = buffers.input.data(),
                        .count = static_cast<int>(count_of(call, buffers.data.size())),
                        .type = static_cast<std::uint8_t>(call.reduction.type),
                        .op = static_cast<std::uint8_t>(call.reduction.op),
                        .root = call.root.value};
  const auto mine = static_cast<std::size_t>(self.value) * call.bytes;
  if (call.kind == CallKind::all_gather && what.input == buffers.data.data() + mine)
    what.input = nullptr;
  return std::make_shared<MpiCollective>(world_, counts_, group, call.kind, what,
                                         traffic_of(call, self, buffers));
}

}  // namespace fastgpu::comm::mpi
