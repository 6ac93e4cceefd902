// Messages between two ranks by MPI.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "comm/mpi/world.hpp"
#include "comm/rank.hpp"

namespace fastgpu::comm::mpi {

/// Bytes that MPI moves, and only while somebody asks. One that is destroyed before it is done is
/// not waited for: MPI may use its memory for as long as the process lives.
class Transfer {
 public:
  virtual ~Transfer() = default;

  /// True once it is done, and is not asked again.
  virtual bool test() = 0;
};

/// A message that nobody had asked for, and that comes into the memory given for it.
struct Found {
  Rank from{};
  std::size_t bytes = 0;
  std::unique_ptr<Transfer> transfer;
};

/// Most bytes of one message, and the highest number that it may have. Every MPI has both.
constexpr std::size_t kMostBytes = 1 << 30;
constexpr int kHighestNumber = 1023;

/// Messages from one rank to another with the same number do not overtake each other. One thread
/// at a time. All throw ErrorKind::local, in MPI's words.
class Messages {
 public:
  virtual ~Messages() = default;

  /// Done once its receiver has begun to receive it and the bytes are no more looked at.
  virtual std::unique_ptr<Transfer> send(std::span<const std::byte> bytes, Rank to, int number) = 0;
  virtual std::unique_ptr<Transfer> receive(std::span<std::byte> bytes, Rank from, int number) = 0;

  /// The next message with this number, of whatever rank, or none. It is not longer than `into`.
  virtual std::optional<Found> find(std::span<std::byte> into, int number) = 0;

  /// MPI has been finalised: nothing else here may be called.
  virtual bool is_over() const noexcept = 0;
};

/// Among all ranks of the world. Throws ErrorKind::usage where MPI does not let several threads
/// call it.
std::unique_ptr<Messages> messages_of(std::shared_ptr<const World> world);

}  // namespace fastgpu::comm::mpi
