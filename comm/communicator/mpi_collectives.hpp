// Whole collectives by MPI, for the calls that MPI has.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "comm/engine/call.hpp"
#include "comm/engine/offloaded_collective.hpp"
#include "comm/mpi/mpi_world.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm::mpi {

/// The buffers of a call; see Work.
struct CollectiveBuffers {
  std::span<std::byte> data{};
  std::span<const std::byte> input{};
};

/// The counts of collectives that MPI has run. Thread-safe.
class CollectiveCounts {
 public:
  void count(std::uint64_t given, std::uint64_t gotten) noexcept {
    ++calls_;
    given_ += given;
    gotten_ += gotten;
  }
  /// Returns them as those of a link: a call is a message each way. What MPI itself sends for it is
  /// unknown.
  LinkCounters link() const;

 private:
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<std::uint64_t> given_ = 0;   ///< The bytes that this rank has given to calls.
  std::atomic<std::uint64_t> gotten_ = 0;  ///< The bytes of their results on this rank.
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

  /// Returns the counts of the calls that have ended.
  LinkCounters link() const { return counts_->link(); }

 private:
  std::shared_ptr<const MpiWorld> world_;     ///< Shared with collectives under way.
  std::shared_ptr<CollectiveCounts> counts_;  ///< Shared with collectives under way.
};

}  // namespace fastgpu::comm::mpi
