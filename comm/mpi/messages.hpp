// Messages between two ranks by MPI.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "comm/common/rank.hpp"
#include "comm/mpi/mpi_world.hpp"

namespace fastgpu::comm::mpi {

/// Bytes that MPI moves, and only while `test` is called. Its destructor does not wait for its end:
/// MPI may use its memory for as long as the process lives.
class Transfer {
 public:
  virtual ~Transfer() = default;

  /// Returns true once it is done, and is not called again.
  virtual bool test() = 0;
};

/// A message that was not asked for, and that comes into the memory given for it.
struct FoundMessage {
  Rank from{};
  std::size_t bytes = 0;
  std::unique_ptr<Transfer> transfer;
};

/// The most bytes of one message, and the highest number that it may have. Every MPI has both.
constexpr std::size_t kMostBytes = 1 << 30;
constexpr int kHighestNumber = 1023;

/// Messages between ranks. Those from one rank to another with the same number do not overtake each
/// other. One thread at a time. All functions throw ErrorKind::local, with MPI's description.
class MpiMessages {
 public:
  virtual ~MpiMessages() = default;

  /// Sends `bytes`; done once the receiver has begun to receive them and they are not used any
  /// more.
  virtual std::unique_ptr<Transfer> send(std::span<const std::byte> bytes, Rank to, int number) = 0;
  virtual std::unique_ptr<Transfer> receive(std::span<std::byte> bytes, Rank from, int number) = 0;

  /// Finds the next message with this number, from any rank; absent without one. It is not longer
  /// than `into`.
  virtual std::optional<FoundMessage> find(std::span<std::byte> into, int number) = 0;

  /// Returns true once MPI has been finalised: no other function here may be called then.
  virtual bool is_over() const noexcept = 0;
};

/// Returns the messages among all ranks of the world. Throws ErrorKind::usage if MPI does not allow
/// calls from several threads.
std::unique_ptr<MpiMessages> messages_of(std::shared_ptr<const MpiWorld> world);

}  // namespace fastgpu::comm::mpi
