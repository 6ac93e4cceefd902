#include "comm/transports/fabric_pieces.hpp"

#include <algorithm>

namespace fastgpu::comm {
namespace {

/// Pieces that are reduced or copied as they come, while others are on their way: a multiple of
/// every element.
constexpr std::size_t kStagedPiece = 1 << 20;
constexpr std::size_t kStagedWindow = 3;
/// Pieces that are put where they belong.
constexpr std::size_t kDirectWindow = 4;

}  // namespace

FabricPieces::FabricPieces(fabric::FabricEndpoint& endpoint, std::uint64_t token,
                           const RegisteredMemory& memory, ProgramMemory& program_memory,
                           FabricFrames& frames, FabricHub& hub)
    : endpoint_(endpoint),
      token_(token),
      memory_(memory),
      program_memory_(program_memory),
      frames_(frames),
      hub_(hub),
      staging_(endpoint, kStagedPiece, 1,
               endpoint.traits().needs_local || endpoint.traits().put != fabric::Put::none) {
  if (endpoint.traits().needs_local) staging_.reserve();
}

FabricReceiving& FabricPieces::add(FabricPeer& from, Incoming& message) {
  FabricReceiving& receiving = receivings_.emplace_front();
  receiving.message = &message;
  receiving.from = &from;
  receiving.self = receivings_.begin();
  from.receiving.add(message.tag, &receiving);
  return receiving;
}

void FabricPieces::advance(FabricReceiving& receiving) {
  const Incoming& message = *receiving.message;
  const std::size_t window = message.sink.reduction ? kStagedWindow : kDirectWindow;
  bool is_stalled = false;
  try {
    while (receiving.pieces < window && receiving.granted < message.sink.memory.size() &&
           !is_stalled)
      is_stalled = !grant(receiving);
  } catch (const Error& e) {
    return hub_.lose(*receiving.from, e);
  }
  if (is_stalled == receiving.is_stalled) return;
  receiving.is_stalled = is_stalled;
  stalled_ = is_stalled ? stalled_ + 1 : stalled_ - 1;
}

bool FabricPieces::advance_stalled() {
  if (stalled_ == 0) return false;
  const std::size_t before = stalled_;
  for (auto receiving = receivings_.begin(); receiving != receivings_.end();) {
    FabricReceiving& next = *receiving++;  // A peer may be lost, and what it sends with it.
    if (!next.is_stalled) continue;
    FabricPeer& from = *next.from;
    advance(next);
    hub_.flush(from);
    if (hub_.is_stopped() || from.is_lost) break;
  }
  return stalled_ < before;
}

/// Grants the next piece; returns false where it must be tried again later.
bool FabricPieces::grant(FabricReceiving& receiving) {
  const Incoming& message = *receiving.message;
  Piece& piece = pieces_.emplace_front();
  piece.role = FabricRole::piece;
  piece.self = pieces_.begin();
  piece.peer = receiving.from;
  piece.receiving = &receiving;
  piece.offset = receiving.granted;
  piece.is_tagged = receiving.from->put == fabric::Put::none;
  try {
    if (!prepare(piece)) {
      undo(piece);
      return false;
    }
  } catch (const Error& e) {
    undo(piece);
    // The memory of pieces under way is free for others later.
    if (e.kind() == ErrorKind::capacity && !pieces_.empty()) return false;
    throw;
  }
  const std::size_t bytes = piece.part.bytes.size();
  receiving.granted += bytes;
  ++receiving.pieces;
  numbered_.add(piece.number, &piece);
  FabricFrame frame = frames_.frame_to(*receiving.from, FabricFrameKind::grant);
  frame.tag = message.tag;
  frame.grant = {.total = message.sink.memory.size(),
                 .offset = piece.offset,
                 .length = static_cast<std::uint32_t>(bytes),
                 .number = piece.number,
                 .is_tagged = piece.is_tagged};
  if (!piece.is_tagged) frame.grant.place = place_in(*piece.part.registration, piece.part.bytes);
  frames_.queue(*receiving.from, frame);
  return true;
}

/// Finds memory for the next piece, which decides how long it is: its place in the message, or a
/// block where it is reduced or copied from.
void FabricPieces::find_memory(Piece& piece) {
  const MessageSink& sink = piece.receiving->message->sink;
  const std::size_t most =
      std::min(sink.memory.size() - piece.offset, endpoint_.traits().most_bytes);
  const bool is_registered = !piece.is_tagged || endpoint_.traits().needs_local;
  if (!sink.reduction) {
    piece.part.bytes = sink.memory.subspan(piece.offset, std::min(most, kFabricPiece));
    piece.part.registration = memory_.find(piece.part.bytes);
    if (!is_registered || piece.part.registration != nullptr) return;
    piece.own = program_memory_.lend(piece.part.bytes);
    piece.part.registration = piece.own.get();
    if (piece.own) return;
  }
  piece.part = staging_.take();
  piece.part.bytes = piece.part.bytes.first(std::min(most, kStagedPiece));
  piece.is_staged = true;
}

/// Finds memory for a piece, and posts its receive if it comes as a message.
bool FabricPieces::prepare(Piece& piece) {
  find_memory(piece);
  do
    piece.number = next_number_++;
  while (numbered_.find(piece.number) != nullptr);
  return !piece.is_tagged ||
         endpoint_.receive_tagged(fabric_piece_tag(token_, piece.number), piece.part, piece);
}

/// Takes a piece out of the list, with its memory.
void FabricPieces::undo(Piece& piece) {
  if (piece.is_staged)
    staging_.give({{piece.part.bytes.data(), kStagedPiece}, piece.part.registration});
  pieces_.erase(piece.self);
}

void FabricPieces::arrived(Piece& piece) {
  FabricReceiving* const receiving = piece.receiving;
  if (numbered_.find(piece.number) != nullptr) numbered_.take(piece.number);
  if (receiving == nullptr) return undo(piece);
  Incoming& message = *receiving->message;
  if (piece.is_staged) message.sink.take(piece.offset, piece.part.bytes);
  message.moved += piece.part.bytes.size();
  --receiving->pieces;
  undo(piece);
  FabricPeer& from = *receiving->from;
  if (message.moved < message.sink.memory.size()) {
    advance(*receiving);
    return hub_.flush(from);
  }
  from.receiving.take(message.tag);
  receivings_.erase(receiving->self);
  hub_.events().received(message);
}

bool FabricPieces::take_written(std::uint64_t number) {
  Piece** const piece = numbered_.find(number);
  const bool is_awaited =
      piece != nullptr && !(*piece)->is_tagged && (*piece)->peer->put == fabric::Put::with_data;
  if (!is_awaited) return false;
  ++(*piece)->peer->items_taken;
  arrived(**piece);
  return true;
}

void FabricPieces::take_tagged(FabricOperation& operation, std::size_t bytes) {
  auto& piece = static_cast<Piece&>(operation);
  FabricPeer& from = *piece.peer;
  const std::size_t expected = piece.part.bytes.size();
  ++from.items_taken;
  if (bytes == expected || piece.receiving == nullptr) return arrived(piece);
  piece.receiving = nullptr;
  arrived(piece);
  hub_.lose(from, Error(ErrorKind::remote, "it sent a piece of another length"));
}

void FabricPieces::take_done(FabricPeer& peer, const FabricGrant& done) {
  Piece** const found = numbered_.find(done.number);
  const bool is_awaited = found != nullptr && (*found)->peer == &peer && !(*found)->is_tagged &&
                          (*found)->part.bytes.size() == done.length;
  if (!is_awaited) refuse_fabric("it sent a piece that was not asked for");
  arrived(**found);
}

void FabricPieces::failed(FabricOperation& operation) {
  auto& piece = static_cast<Piece&>(operation);
  if (numbered_.find(piece.number) != nullptr) numbered_.take(piece.number);
  if (piece.receiving != nullptr) --piece.receiving->pieces;
  undo(piece);
}

bool FabricPieces::has_any_from(const FabricPeer& peer) const noexcept {
  return std::ranges::any_of(pieces_, [&](const Piece& each) { return each.peer == &peer; });
}

void FabricPieces::forget(FabricPeer& peer) {
  peer.receiving.clear();
  std::erase_if(receivings_, [&](const FabricReceiving& each) {
    if (each.from == &peer && each.is_stalled) --stalled_;
    return each.from == &peer;
  });
}

void FabricPieces::cancel(const FabricPeer& peer) {
  for (auto next = pieces_.begin(); next != pieces_.end();) {
    Piece& piece = *next++;
    if (piece.peer != &peer) continue;
    piece.receiving = nullptr;
    if (piece.is_tagged)
      endpoint_.cancel(piece);
    else
      arrived(piece);
  }
}

void FabricPieces::release_messages() noexcept {
  receivings_.clear();
  stalled_ = 0;
  for (Piece& piece : pieces_)
    piece.receiving = nullptr;
}

void FabricPieces::clear() noexcept {
  pieces_.clear();
  receivings_.clear();
  stalled_ = 0;
  staging_.clear();
}

}  // namespace fastgpu::comm
