// Whole collectives on device memory, by NCCL.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "comm/common/rank.hpp"
#include "comm/gpu/nccl_library.hpp"
#include "comm/kernels/reduce.hpp"

namespace fastgpu::comm::gpu {

/// A copy of rank 0's bytes to every rank, by any other means: Communicator::broadcast, for
/// example.
using BroadcastFromZero = std::function<void(std::span<std::byte>)>;

/// The timeout of NCCL's background work before a call returns: joining, and connecting ranks.
struct NcclWait {
  std::chrono::milliseconds limit{60'000};
  std::function<void()> look = [] {};  ///< Called now and then; throws if waiting is in vain.
};

/// NCCL's communicator. Every rank makes the same calls in the same order; each puts its work into
/// `stream` and does not wait for it. Spans are in the memory of the device that was current when
/// this was made, and is when it is called. Sums and averages are NCCL's: the same bits on every
/// rank, but not always those of the host's collectives.
///
/// Throws ErrorKind::usage for lengths that do not fit, ErrorKind::local or ErrorKind::remote if
/// NCCL refuses, ErrorKind::transient if patience ends. One thread at a time.
class NcclCommunicator {
 public:
  /// Blocks until all `size` ranks have called it; `library` must outlive this. If rank 0 cannot
  /// begin, every rank throws.
  NcclCommunicator(const NcclLibrary& library, Rank rank, int size,
                   const BroadcastFromZero& broadcast, NcclWait wait = {});
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;
  ~NcclCommunicator();

  Rank rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  /// Reduces in place. Floating-point averages are scaled before the sum, so that it stays in the
  /// range of float16.
  void all_reduce(std::span<std::byte> data, Reduction reduction, StreamHandle stream);

  /// Gives `mine` this rank's part of the reduction of `all`, which is size() times as long.
  void reduce_scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                      Reduction reduction, StreamHandle stream);

  void broadcast(std::span<std::byte> data, Rank root, StreamHandle stream);

  /// Gives `all` the `mine` of every rank, ordered by rank.
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all, StreamHandle stream);

  /// Sends block r of `out` to rank r, and receives block r of `in` from there.
  void all_to_all(std::span<const std::byte> out, std::span<std::byte> in, StreamHandle stream);

  // A stream stays at a message until the other rank has come to it. Messages made within `group`
  // travel together instead.
  void send(std::span<const std::byte> data, Rank to, StreamHandle stream);
  void receive(std::span<std::byte> data, Rank from, StreamHandle stream);
  void group(const std::function<void()>& messages);

  /// Throws a failure since the last call, such as a rank that is gone.
  void check_health();

  /// Ends all calls in flight; nothing else may be called afterwards.
  void abort() noexcept;

 private:
  int op_of(Reduction reduction);
  void settle(int result, std::string_view doing);

  const NcclLibrary& library_;
  Rank rank_;
  int size_;
  NcclWait wait_;
  NcclComm* comm_ = nullptr;                                  ///< Null once aborted.
  std::array<std::optional<int>, kElementTypes> averages_{};  ///< The operations made, by type.
};

}  // namespace fastgpu::comm::gpu
