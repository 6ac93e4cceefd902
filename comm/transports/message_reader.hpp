// Messages that their receiver reads where their sender has them, the oldest first. The sender of a
// long one may copy a part of it meanwhile (JointCopy).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "comm/transports/faster_way.hpp"
#include "comm/transports/joint_copy.hpp"
#include "comm/transports/peer_memory.hpp"
#include "comm/transports/shared_stores.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

class MessageReader {
 public:
  /// Borrows both: the claims of messages from the peer, and the way to store these.
  MessageReader(PeerMemory memory, JointCopy& joint, SharedStores& stores)
      : memory_(memory), joint_(joint), stores_(stores) {}
  ~MessageReader() { forget(); }
  MessageReader(const MessageReader&) = delete;
  MessageReader& operator=(const MessageReader&) = delete;

  /// Returns whether the peer's memory can be read by its address.
  bool reads_addresses() const noexcept { return memory_.is_readable(); }

  /// Adds a message; `request` is the sender's number for it.
  void add(Incoming& message, std::span<const std::byte> from, std::uint32_t request);
  void add(Incoming& message, std::uint64_t address, std::uint32_t request);

  bool is_busy() const noexcept { return !messages_.empty(); }

  /// Returns whether the next bytes are in memory that is mapped here: they stay if the peer ends.
  bool reads_mapped() const noexcept { return is_busy() && !messages_.front().from.empty(); }

  /// A message that its sender is to be asked to copy, too.
  struct Invitation {
    std::uint32_t request = 0;
    std::uint32_t copy = 0;
    std::span<std::byte> into{};
  };
  /// Returns the invitation for the oldest message, once, if it is long and none of it is there.
  /// `is_answer` is true if this rank has sent to the peer since the message before.
  std::optional<Invitation> invite(bool is_answer);

  struct Read {
    bool has_moved = false;
    Incoming* done = nullptr;   ///< The message if all of it is there.
    std::uint32_t request = 0;  ///< The number that the sender gave it.
  };
  /// Reads one piece of the oldest message. Throws ErrorKind::remote.
  Read read();

  /// Touches no message any more, nor does the peer after that: it has ended its last piece, or is
  /// stopped. Waits for that, but no longer than 5 s.
  void forget() noexcept;

 private:
  struct Message {
    Incoming* message = nullptr;
    std::span<const std::byte> from{};  ///< Empty where only the kernel can read it.
    std::uint64_t address = 0;          ///< An address for the kernel's calls.
    std::uint32_t request = 0;
    std::uint32_t copy = 0;  ///< The number of the joint copy; 0 without one.
    std::uint32_t own_pieces = 0;
  };

  bool is_for_two(const Message& reading, bool is_answer) const noexcept;
  void read_next(const Message& reading);
  bool read_claimed(Message& reading);
  void read_piece(const Message& reading, std::uint32_t piece);
  void copy_by_kernel(const Message& reading, std::size_t offset, std::size_t size);
  std::span<const std::byte> staged(const Message& reading, std::size_t offset, std::size_t size);
  Read ended();
  void end_joint_copy(const Message& reading) noexcept;

  PeerMemory memory_;
  JointCopy& joint_;
  SharedStores& stores_;
  std::uint32_t copies_ = 0;  ///< The number of the last joint copy.
  std::deque<Message> messages_;
  /// The kernel copies straight to a place that others have read, or into a buffer, from which it
  /// is stored past the caches.
  FasterWay by_buffer_{64, 1.5};
  std::vector<std::byte> staged_;  ///< A buffer for pieces that do not go straight to their place.
};

}  // namespace fastgpu::comm
