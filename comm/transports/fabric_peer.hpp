// A fabric transport's state of one rank, and the operations with it that are under way.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/fabric/fabric_endpoint.hpp"
#include "comm/transports/fabric_frame.hpp"
#include "comm/transports/tag_table.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

struct FabricPeer;

enum class FabricRole : std::uint8_t { frame_in, frame_out, put, piece };

/// Something that the fabric does. It stays where it is until its completion has been read.
struct FabricOperation : fabric::OperationSpace {
  FabricRole role = FabricRole::frame_in;
  FabricPeer* peer = nullptr;  ///< Null for `frame_in`.
};

/// A piece that this rank puts into a peer's memory.
struct FabricPut : FabricOperation {
  Outgoing* message = nullptr;  ///< Null once it is forgotten.
  FabricGrant grant{};
  std::unique_ptr<fabric::FabricRegistration>
      own{};                  ///< Null if the memory is registered otherwise, or copied.
  fabric::FabricPart copy{};  ///< The block with a copy of the bytes; empty: they are not copied.
  std::list<FabricPut>::iterator self{};
};

/// A long message that this rank sends.
struct FabricSending {
  Outgoing* message = nullptr;
  std::size_t granted = 0;
};

/// A long message that this rank awaits.
struct FabricReceiving {
  Incoming* message = nullptr;
  FabricPeer* from = nullptr;
  std::size_t granted = 0;  ///< Bytes.
  std::size_t pieces = 0;   ///< Pieces that are granted and have not come.
  bool is_stalled = false;  ///< The next piece could not be granted yet.
  std::list<FabricReceiving>::iterator self{};
};

/// A frame without a message's bytes, encoded.
struct FabricControl {
  std::array<std::byte, 96> bytes{};
  std::size_t size = 0;
  bool is_counted = true;  ///< The receiver reports that it has taken it.
  bool is_short = true;    ///< May be sent without a completion.
};

/// The state of one rank.
struct FabricPeer {
  Rank rank{};
  fabric::PeerNumber number = 0;
  std::uint64_t token = 0;
  fabric::Put put = fabric::Put::none;  ///< The way of both directions.
  bool is_lost = false;
  bool is_met = false;
  bool is_reached = true;
  bool is_busy = false;   ///< Something waits for room in the endpoint's queue.
  bool has_left = false;  ///< True once the farewell has come.

  // Frames: FabricFrames.
  std::deque<FabricControl> controls{};
  std::uint64_t items_sent = 0;   ///< Frames and pieces.
  std::uint64_t items_known = 0;  ///< The part of them that the peer has taken.
  std::uint64_t items_asked = 0;  ///< The value of `items_sent` at the last question.
  /// The time of the last question, or of its answer.
  std::chrono::steady_clock::time_point asked_at = std::chrono::steady_clock::now();
  std::chrono::milliseconds ask_gap{0};  ///< The time from then until the next question.
  /// The time of the first question after which nothing has come; absent where something has.
  std::optional<std::chrono::steady_clock::time_point> silent_since{};
  /// The first time, after 20 s of such silence, that it has answered by another connection.
  std::optional<std::chrono::steady_clock::time_point> answered_elsewhere{};
  int vain_answers = 0;  ///< Answers in succession after which something sent is still missing.
  std::uint64_t items_taken = 0;  ///< Frames and pieces that have come.
  bool has_injected = false;      ///< Frames have left whose end nothing reports.

  // Short messages: FabricShorts.
  std::deque<Outgoing*> shorts{};  ///< The most urgent first.
  std::uint64_t sent = 0;          ///< The cost of all of them.
  std::uint64_t credit = 0;        ///< The part of it that the peer has taken.
  TagTable<Incoming*> wanted{};
  TagTable<std::vector<std::byte>> arrivals{};
  std::size_t arrived_bytes = 0;  ///< The cost of `arrivals`.
  std::uint64_t taken = 0;        ///< The cost of all that have come.
  std::uint64_t reported = 0;     ///< The part of it that the peer knows.

  // Long messages that this rank sends: FabricPuts.
  TagTable<FabricSending> sending{};
  TagTable<std::vector<FabricGrant>> early_grants{};
  std::size_t early = 0;        ///< The number of `early_grants`.
  std::list<FabricPut> puts{};  ///< The most urgent first.
  std::size_t under_way = 0;    ///< Puts that have begun.

  // Long messages that this rank receives: FabricPieces.
  TagTable<FabricReceiving*> receiving{};
};

/// Throws the error by which a peer is lost that breaks the rules.
[[noreturn]] inline void refuse_fabric(const std::string& what) {
  throw Error(ErrorKind::remote, what);
}

/// Returns the tag of a piece: a stranger does not know the token.
constexpr std::uint64_t fabric_piece_tag(std::uint64_t token, std::uint32_t number) {
  return token << 32 | number;
}

/// A fabric transport as its parts know it.
class FabricHub {
 public:
  virtual ~FabricHub() = default;

  virtual TransportEvents& events() noexcept = 0;

  /// Sends to the peer what can be sent now; what must wait for room is tried again later.
  virtual void flush(FabricPeer& peer) noexcept = 0;
  virtual void lose(FabricPeer& peer, const Error& error) noexcept = 0;

  /// Returns true once the endpoint has stopped, and all operations with it.
  virtual bool is_stopped() const noexcept = 0;
};

}  // namespace fastgpu::comm
