// Whole collectives on device memory, done by NCCL.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "comm/gpu/memory.hpp"
#include "comm/gpu/nccl_library.hpp"
#include "comm/rank.hpp"
#include "comm/reduce.hpp"

namespace fastgpu::comm::gpu {

/// Copies the bytes of rank 0 to every rank, by any other means: Communicator::broadcast, say.
using BroadcastFromZero = std::function<void(std::span<std::byte>)>;

/// Every rank makes the same calls in the same order; each puts its work into `stream` and does not
/// wait for it. Spans are of the device that was current when this was made. Sums and averages are
/// NCCL's: the same bits on every rank, not always those that the host's collectives give.
///
/// Throws ErrorKind::usage for lengths that do not fit, ErrorKind::local or ErrorKind::remote where
/// NCCL refuses. One thread at a time.
class NcclCommunicator {
 public:
  /// Blocks until all `size` ranks have called it; `library` must outlive this. Where rank 0 cannot
  /// begin, every rank throws.
  NcclCommunicator(const NcclLibrary& library, Rank rank, int size,
                   const BroadcastFromZero& broadcast);
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;
  ~NcclCommunicator();

  Rank rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  /// Reduces in place. Floating-point averages are scaled before the sum, so that it stays in the
  /// range of float16.
  void all_reduce(std::span<std::byte> data, Reduction reduction, StreamHandle stream);

  /// `mine` receives this rank's part of the reduction of `all`, which is size() times as long.
  void reduce_scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                      Reduction reduction, StreamHandle stream);

  void broadcast(std::span<std::byte> data, Rank root, StreamHandle stream);

  /// `all` receives `mine` of every rank, ordered by rank.
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all, StreamHandle stream);

  /// Throws what has gone wrong since the last call, such as a rank that is gone.
  void check_health();

  /// Gives up what is in flight; nothing else may be called afterwards.
  void abort() noexcept;

 private:
  int op_of(Reduction reduction);

  const NcclLibrary& library_;
  Rank rank_;
  int size_;
  NcclComm* comm_ = nullptr;                                  ///< Null once aborted.
  std::array<std::optional<int>, kElementTypes> averages_{};  ///< Operations made, by type.
};

}  // namespace fastgpu::comm::gpu
