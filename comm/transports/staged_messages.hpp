// Copies of messages in memory that all ranks of this host map. A copy by this rank and one by the
// reader take less time than one by the kernel, as long as the caches have room for it. A sum is
// made of the copy, and several ranks read the same one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/transports/shared_stores.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

/// The longest message that is copied so if its receiver only copies it, and no other gets the
/// same.
constexpr std::size_t kStagedForOne = 16 << 10;
/// The longest one otherwise. Longer ones leave the caches before they are read.
constexpr std::size_t kStaged = 512 << 10;

/// The messages that have been copied and are not read yet. A copy is there until all its readers
/// have taken it, and a message is done before that: once all with the same bytes are copied.
class StagedMessages {
 public:
  static constexpr std::size_t kUnit = 16 << 10;

  /// Borrows both. The memory is a multiple of kUnit.
  StagedMessages(std::span<std::byte> memory, TransportEvents& events)
      : memory_(memory),
        events_(events),
        is_used_(memory.size() / kUnit),
        copies_(memory.size() / kUnit) {}

  /// The number of a copy.
  using Copy = std::uint32_t;

  /// Copies the bytes of a message, unless a message with the same bytes waits here. Returns
  /// nothing without room. `announced` follows.
  std::optional<Copy> add(Outgoing& message);

  /// Returns the place of a copy, in bytes from the beginning of the memory.
  static std::uint64_t offset_of(Copy copy) noexcept { return std::uint64_t{copy} * kUnit; }

  /// The receiver can find the copy from now on. Reports the messages that are done by this.
  void announced(Copy copy);

  /// A peer has read a copy.
  void taken(Copy copy, Rank by);

  /// Returns whether a message to the peer is done only when it has been read.
  bool waits_for(Rank peer) const noexcept;

  /// Touches no message to the peer any more. Its copies stay: the peer may read them still.
  void forget(Rank peer) noexcept;

 private:
  struct State {
    std::span<const std::byte> source{};
    std::size_t units = 0;
    std::uint32_t messages = 0;        ///< The number of messages with these bytes up to now.
    std::uint32_t unread = 0;          ///< The number of them that have not been read.
    std::vector<Outgoing*> waiting{};  ///< The messages that are not done.
  };

  std::optional<Copy> find_same(std::span<const std::byte> bytes) const noexcept;
  std::optional<Copy> find_room(std::size_t units) const noexcept;
  void close_if_done(Copy copy);

  std::span<std::byte> memory_;
  TransportEvents& events_;
  SharedStores stores_;
  std::vector<bool> is_used_;  ///< An entry for each unit.
  std::vector<State> copies_;  ///< A copy has the number of its first unit.
  std::vector<Copy> open_;     ///< The copies with messages that are not done.
};

}  // namespace fastgpu::comm
