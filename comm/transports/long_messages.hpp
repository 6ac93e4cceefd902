// The long messages to a peer: more than a few wait until the peer asks for them, so that what it
// does not expect yet holds up nothing else.
#pragma once

#include <cstddef>

#include "comm/transports/tag_table.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

/// Longer messages are asked for by their receiver.
constexpr std::size_t kUnasked = 64 << 10;
/// The bytes of these that go to one peer before it asks. The peer often asks later than the
/// connection has room: on a full link its question takes as long as the bytes before it.
constexpr std::size_t kMostAhead = 2 << 20;

class LongMessages {
 public:
  /// Returns true if a message, which is longer than kUnasked, goes now. Else it waits, and
  /// `asked_for` returns it.
  bool may_go(Outgoing& message);

  /// The peer asks for a message. Returns it if it has waited for that, else null. Throws
  /// ErrorKind::remote if the peer asks for more messages than it can await.
  Outgoing* asked_for(MessageTag tag);

  bool has_waiting() const noexcept { return waiting_.size() > 0; }

  /// Forgets what waits and what has gone.
  void clear() noexcept;

 private:
  TagTable<Outgoing*> waiting_;  ///< Those that the peer has not asked for.
  TagTable<std::size_t> ahead_;  ///< The bytes of those that have gone without a question.
  std::size_t ahead_bytes_ = 0;  ///< The bytes in `ahead_`.
  TagTable<char> wanted_early_;  ///< Those that it has asked for, and that are not there yet.
};

}  // namespace fastgpu::comm
