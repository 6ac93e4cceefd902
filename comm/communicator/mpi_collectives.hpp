// Whole collectives by MPI, for the calls that MPI has.
#pragma once

#include <memory>
#include <span>

#include "comm/engine/call.hpp"
#include "comm/engine/offloaded_collective.hpp"
#include "comm/mpi/mpi_world.hpp"

namespace fastgpu::comm::mpi {

/// The buffers of a call; see Work.
struct CollectiveBuffers {
  std::span<std::byte> data{};
  std::span<const std::byte> input{};
};

/// Whether MPI runs such a call of a group of `ranks`: it lacks messages of ours, the 16-bit types,
/// sums of int8 that wrap, and counts beyond 31 bits. The same on all ranks.
bool has(const Call& call, int ranks);

/// Thread-safe, as far as what it begins is.
class MpiCollectives {
 public:
  /// Throws ErrorKind::usage where MPI does not let several threads call it.
  explicit MpiCollectives(std::shared_ptr<const MpiWorld> world);

  /// Creates a group of some ranks of the world. All of these call it together, with a number that
  /// no other group has.
  Group* group_of(std::span<const Rank> ranks, std::uint32_t number) const;
  Group* everybody() const noexcept { return world_->everybody(); }

  /// A call that MPI `has`. Where it fails or is let go before its end, MPI may use its memory for
  /// as long as the process lives.
  std::shared_ptr<OffloadedCollective> prepare(Group* group, Rank self, const Call& call,
                                               const CollectiveBuffers& buffers) const;

 private:
  std::shared_ptr<const MpiWorld> world_;  ///< Shared with collectives under way.
};

}  // namespace fastgpu::comm::mpi
