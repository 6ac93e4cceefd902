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

class MpiCollective final : public OffloadedCollective {
 public:
  MpiCollective(std::shared_ptr<const MpiWorld> world, Group* group, CallKind kind,
                PluginCollective what)
      : world_(std::move(world)), group_(group), kind_(kind), what_(what) {}

  std::string_view library() const noexcept override { return "MPI"; }

  void start() override { world_->library().check(begin(), "beginning it"); }

  bool test() override {
    int is_done = 0;
    world_->library().check(world_->library()->test(request_, &is_done), "running it");
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
      case CallKind::message:
        break;
    }
    throw Error(ErrorKind::internal, "MPI does not run messages");
  }

  std::shared_ptr<const MpiWorld> world_;  ///< Shared with all who use MPI.
  Group* group_;
  CallKind kind_;
  PluginCollective what_;
  Request* request_ = nullptr;
};

}  // namespace

bool has(const Call& call, int ranks) {
  if (call.kind == CallKind::message) return false;
  const bool is_short = size_of(call.reduction.type) == 2;
  if (is_reduction(call.kind) && is_short) return false;
  // Open MPI's sums of bytes saturate where the CPU has AVX, and ours wrap.
  if (is_reduction(call.kind) && size_of(call.reduction.type) == 1) return false;
  // Some of MPI's algorithms count all ranks' parts together.
  const std::uint64_t parts = is_reduction(call.kind) ? 1 : static_cast<std::uint64_t>(ranks);
  return count_of(call, call.bytes) * parts <=
         static_cast<std::uint64_t>(std::numeric_limits<int>::max());
}

MpiCollectives::MpiCollectives(std::shared_ptr<const MpiWorld> world) : world_(std::move(world)) {
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
  return std::make_shared<MpiCollective>(world_, group, call.kind, what);
}

}  // namespace fastgpu::comm::mpi
