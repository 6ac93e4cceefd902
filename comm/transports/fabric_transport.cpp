#include "comm/transports/fabric_transport.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "comm/common/deadline.hpp"
#include "comm/common/nonce.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMaxFramesIn = 128;
constexpr std::size_t kMinFramesIn = 16;
/// Frames of this rank that are under way.
constexpr std::size_t kMaxFramesOut = 256;
constexpr std::size_t kFramesAChunk = 32;

/// Pieces that are reduced as they come, while others are on their way: a multiple of every
/// element.
constexpr std::size_t kStagedPiece = 1 << 20;
constexpr std::size_t kStagedWindow = 3;
/// Pieces that are put where they belong.
constexpr std::size_t kDirectWindow = 4;

/// Puts to one peer that are under way: a more urgent one waits for no more.
constexpr std::size_t kMaxPuts = 8;

/// The cost of short messages that a peer may send ahead of what it knows to be taken.
constexpr std::uint64_t kAheadCost = 1 << 20;

/// Grants that a peer may give for messages that this rank has not begun to send.
constexpr std::size_t kMaxEarlyGrants = kMostUnasked / kArrivalCost;

/// The time in which what was sent last must arrive.
constexpr auto kFarewellTimeout = 2s;
/// The time in which operations with a peer that is lost end.
constexpr auto kCancelTimeout = 200ms;

std::uint64_t random_token() {
  const Nonce nonce = random_nonce();
  std::uint64_t token = 0;
  std::memcpy(&token, nonce.data(), sizeof(token));
  return token;
}

std::uint64_t cost_of(std::size_t bytes) {
  return kArrivalCost + bytes;
}

/// The tag of a piece: a stranger does not know the token.
std::uint64_t piece_tag(std::uint64_t token, std::uint32_t number) {
  return token << 32 | number;
}

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::remote, what);
}

[[noreturn]] void refuse_length(std::uint64_t sent, std::uint64_t expected) {
  refuse("it sent " + std::to_string(sent) + " bytes where " + std::to_string(expected) +
         " were expected");
}

/// Returns whether the receiver reports that it has taken such a frame.
bool is_counted(FabricFrameKind kind) {
  return kind != FabricFrameKind::credit && kind != FabricFrameKind::question &&
         kind != FabricFrameKind::hello;
}

std::size_t length_of(const Incoming& message) {
  return message.sink.memory.size();
}

/// The listener of a transport that has not begun, or is about to end.
class Deaf final : public TransportEvents {
 public:
  void sent(Outgoing&) override {}
  void received(Incoming&) override {}
  void noted(Rank, MessageTag, const Note&) override {}
  void lost(Rank rank, const Error& error) override { losses.emplace(rank, error.what()); }

  std::map<Rank, std::string> losses{};
};

}  // namespace

FabricTransport::FabricTransport(Rank self, int size,
                                 std::unique_ptr<fabric::FabricEndpoint> endpoint)
    : self_(self),
      endpoint_(std::move(endpoint)),
      token_(random_token()),
      peers_(static_cast<std::size_t>(size)),
      frames_(*endpoint_, kFabricFrameBytes, kFramesAChunk, traits().needs_local),
      staging_(*endpoint_, kStagedPiece, 1,
               traits().needs_local || traits().put != fabric::Put::none),
      scratch_(kFabricFrameBytes) {
  const std::size_t frames = std::clamp(traits().receives / 2, kMinFramesIn, kMaxFramesIn);
  for (std::size_t i = 0; i < frames; ++i) {
    frames_in_.emplace_back();
    frames_in_.back().block = frames_.take();
    unposted_.push_back(&frames_in_.back());
  }
}

FabricTransport::~FabricTransport() {
  try {
    if (!is_stopped_ && events_ != nullptr) say_farewell();
  } catch (const Error&) {
    // The fabric is broken, and moves no more data.
  }
  stop();
}

fabric::Card FabricTransport::card() const {
  return {.provider = traits().provider,
          .protocol = traits().protocol,
          .put = traits().put,
          .is_hardware = traits().is_hardware,
          .token = token_,
          .address = endpoint_->address()};
}

bool FabricTransport::connect(Rank rank, const fabric::Card& card) {
  if (card.provider != traits().provider || card.protocol != traits().protocol) return false;
  const auto number = endpoint_->add_peer(card.address);
  if (!number) return false;
  auto peer = std::make_unique<Peer>();
  peer->rank = rank;
  peer->number = *number;
  peer->token = card.token;
  peer->put = card.put == traits().put ? card.put : fabric::Put::none;
  peers_.at(static_cast<std::size_t>(rank.value)) = std::move(peer);
  return true;
}

/// Keeps the peer: operations with it that have begun may still end.
void FabricTransport::disconnect(Rank rank) noexcept {
  Peer* const peer = peer_of(rank);
  if (peer == nullptr) return;
  peer->is_lost = true;
  peer->is_reached = false;
  peer->controls.clear();
  peer->is_busy = false;
  std::erase(busy_, peer);
}

bool FabricTransport::is_meeting() const noexcept {
  return needs_progress() || std::ranges::any_of(peers_, [](const auto& peer) {
           return peer && !peer->is_met && !peer->is_lost;
         });
}

/// The lower of two ranks sends first, because ofi_rxm of libfabric 1.17 crashes over verbs if both
/// connect at once.
std::map<Rank, std::string> FabricTransport::meet(Deadline deadline) {
  Deaf listener;
  open(listener);
  for (const auto& peer : peers_)
    if (peer && peer->is_reached && peer->rank > self_) greet(*peer);
  while (is_meeting() && !deadline.passed())
    if (!progress()) ::sched_yield();
  events_ = nullptr;
  for (const auto& peer : peers_) {
    if (!peer || !peer->is_reached || (peer->is_met && !peer->is_lost)) continue;
    listener.losses.emplace(
        peer->rank, "it does not answer by " + traits().provider + " on " + traits().device);
    disconnect(peer->rank);
  }
  return std::move(listener.losses);
}

void FabricTransport::open(TransportEvents& events) {
  events_ = &events;
  post_receives();
}

bool FabricTransport::reaches(Rank peer) const noexcept {
  const auto& known = peers_[static_cast<std::size_t>(peer.value)];
  return known != nullptr && known->is_reached;
}

// ---- frames ----

FabricFrame FabricTransport::frame_to(const Peer& peer, FabricFrameKind kind) const {
  return {.kind = kind, .rank = static_cast<std::uint32_t>(self_.value), .token = peer.token};
}

void FabricTransport::control(Peer& peer, const FabricFrame& frame) {
  Control& made = peer.controls.emplace_back();
  made.size = encode(frame, made.bytes);
  made.is_short = frame.kind != FabricFrameKind::farewell && frame.kind != FabricFrameKind::hello;
  made.is_counted = is_counted(frame.kind);
}

void FabricTransport::greet(Peer& peer) {
  control(peer, frame_to(peer, FabricFrameKind::hello));
  flush(peer);
}

void FabricTransport::post_receives() {
  while (!unposted_.empty()) {
    FrameOperation& frame = *unposted_.back();
    if (!endpoint_->receive(frame.block, frame)) return;
    unposted_.pop_back();
  }
}

/// Sends an encoded frame as a copy, which has no completion; false where the queue is full.
bool FabricTransport::inject(Peer& peer, std::span<const std::byte> encoded) {
  peer.has_injected = true;
  return endpoint_->inject(peer.number, encoded);
}

/// Sends an encoded frame; false where the queue is full.
bool FabricTransport::post(Peer& peer, const Control& frame) {
  const auto encoded = std::span(frame.bytes).first(frame.size);
  if (frame.is_short && encoded.size() <= traits().inject_bytes) return inject(peer, encoded);
  if (frames_out_.size() >= kMaxFramesOut) return false;
  const fabric::FabricPart block = frames_.take();
  std::ranges::copy(encoded, block.bytes.begin());
  return post_block(peer, block, encoded.size());
}

bool FabricTransport::post_block(Peer& peer, const fabric::FabricPart& block, std::size_t bytes) {
  FrameOperation& frame = frames_out_.emplace_front();
  frame.role = Role::frame_out;
  frame.peer = &peer;
  frame.block = block;
  frame.self = frames_out_.begin();
  const fabric::FabricPart part{block.bytes.first(bytes), block.registration};
  if (endpoint_->send(peer.number, part, frame)) return true;
  frames_.give(block);
  frames_out_.pop_front();
  return false;
}

/// Sends the first short message; false where it must wait.
bool FabricTransport::post_short(Peer& peer) {
  Outgoing& message = *peer.shorts.front();
  const std::uint64_t cost = cost_of(message.bytes.size());
  if (peer.sent - peer.credit + cost > kAheadCost) return false;
  FabricFrame frame = frame_to(peer, FabricFrameKind::message);
  frame.tag = message.tag;
  frame.bytes = message.bytes;
  if (message.note != nullptr) frame.note = *message.note;
  const std::size_t note = message.note != nullptr ? kNoteBytes : 0;
  const std::size_t size = kFabricHead + note + message.bytes.size();
  if (size <= traits().inject_bytes) {
    encode(frame, scratch_);
    if (!inject(peer, std::span(scratch_).first(size))) return false;
  } else {
    if (frames_out_.size() >= kMaxFramesOut) return false;
    const fabric::FabricPart block = frames_.take();
    encode(frame, block.bytes);
    if (!post_block(peer, block, size)) return false;
  }
  peer.sent += cost;
  ++peer.items_sent;
  peer.shorts.pop_front();
  message.moved = message.bytes.size();
  events_->sent(message);
  return true;
}

/// Sends what can be sent now; what must wait for room is tried again by `progress`.
void FabricTransport::flush(Peer& peer) noexcept {
  if (is_closed(&peer)) return;
  try {
    const bool has_room = flush_all(peer);
    if (has_room || peer.is_busy) return;
    peer.is_busy = true;
    busy_.push_back(&peer);
  } catch (const Error& e) {
    lose(peer, e);
  }
}

/// Returns false where the queue is full.
bool FabricTransport::flush_all(Peer& peer) {
  for (;;) {
    for (; !peer.controls.empty(); peer.controls.pop_front()) {
      if (!post(peer, peer.controls.front())) return false;
      if (peer.controls.front().is_counted) ++peer.items_sent;
    }
    while (!peer.shorts.empty() && post_short(peer)) {
    }
    bool has_put = false;
    while (!peer.puts.empty() && peer.under_way < kMaxPuts) {
      if (!post_put(peer)) return false;
      has_put = true;
    }
    if (!has_put) break;
  }
  const bool waits_for_credit =
      !peer.shorts.empty() &&
      peer.sent - peer.credit + cost_of(peer.shorts.front()->bytes.size()) > kAheadCost;
  return peer.shorts.empty() || waits_for_credit;
}

bool FabricTransport::flush_busy() {
  if (busy_.empty()) return false;
  const std::size_t before = busy_.size();
  for (Peer* const peer : std::exchange(busy_, {})) {
    peer->is_busy = false;
    flush(*peer);
  }
  return busy_.size() < before;
}

// ---- long messages that this rank sends ----

void FabricTransport::send(Outgoing& message) {
  Peer* const to = peer_of(message.peer);
  if (is_closed(to)) return;
  if (message.bytes.size() <= kFabricInside) {
    const auto urgent = [&](const Outgoing* each) { return each->priority >= message.priority; };
    to->shorts.insert(std::ranges::find_if_not(to->shorts, urgent), &message);
    return flush(*to);
  }
  if (message.note != nullptr) {
    FabricFrame frame = frame_to(*to, FabricFrameKind::note);
    frame.tag = message.tag;
    frame.note = *message.note;
    control(*to, frame);
  }
  to->sending.add(message.tag, {&message, 0});
  if (to->early_grants.find(message.tag) != nullptr) {
    const std::vector<FabricGrant> grants = to->early_grants.take(message.tag);
    to->early -= grants.size();
    try {
      for (const FabricGrant& grant : grants)
        accept(*to, *to->sending.find(message.tag), grant);
    } catch (const Error& e) {
      return lose(*to, e);
    }
  }
  flush(*to);
}

void FabricTransport::grant_arrived(Peer& peer, MessageTag tag, const FabricGrant& grant) {
  if (Sending* const sending = peer.sending.find(tag)) {
    accept(peer, *sending, grant);
    return flush(peer);
  }
  if (peer.early >= kMaxEarlyGrants) refuse("it awaits far more messages than there are");
  ++peer.early;
  if (auto* const grants = peer.early_grants.find(tag))
    grants->push_back(grant);
  else
    peer.early_grants.add(tag, {grant});
}

void FabricTransport::accept(Peer& peer, Sending& sending, const FabricGrant& grant) {
  Outgoing& message = *sending.message;
  if (grant.total != message.bytes.size())
    refuse("it expects " + std::to_string(grant.total) + " bytes where " +
           std::to_string(message.bytes.size()) + " are sent");
  sending.granted += grant.length;
  if (sending.granted > grant.total) refuse("it asked for bytes twice");
  if (grant.is_tagged != (peer.put == fabric::Put::none))
    refuse("it asked for bytes in a way that was not agreed");
  const auto urgent = [&](const PutOperation& each) {
    return each.message->priority >= message.priority;
  };
  const auto made = peer.puts.emplace(std::ranges::find_if_not(peer.puts, urgent));
  made->role = Role::put;
  made->peer = &peer;
  made->message = &message;
  made->grant = grant;
  made->self = made;
}

/// Begins the most urgent put; false where the queue is full.
bool FabricTransport::post_put(Peer& peer) {
  PutOperation& put = peer.puts.front();
  const FabricGrant& grant = put.grant;
  const auto source = put.message->bytes.subspan(grant.offset, grant.length);
  // The fabric only reads there.
  fabric::FabricPart part{{const_cast<std::byte*>(source.data()), source.size()},
                          memory_.find(source)};
  if (part.registration == nullptr && traits().needs_local) {
    if (!put.own) put.own = endpoint_->register_memory(part.bytes);
    part.registration = put.own.get();
  }
  const auto write = [&](fabric::WriteKind kind) {
    return endpoint_->write(peer.number, part, grant.place, kind, grant.number, put);
  };
  bool has_begun = false;
  switch (peer.put) {
    case fabric::Put::none:
      has_begun =
          endpoint_->send_tagged(peer.number, piece_tag(peer.token, grant.number), part, put);
      break;
    case fabric::Put::with_data:
      has_begun = write(fabric::WriteKind::with_data);
      break;
    case fabric::Put::then_send:
      has_begun = write(fabric::WriteKind::plain);
      break;
    case fabric::Put::delivered:
      has_begun = write(fabric::WriteKind::until_delivered);
      break;
  }
  if (!has_begun) return false;
  ++peer.under_way;
  puts_.splice(puts_.begin(), peer.puts, put.self);
  // Puts of the other two ways are counted by the frame that follows them.
  if (peer.put == fabric::Put::none || peer.put == fabric::Put::with_data) ++peer.items_sent;
  if (peer.put != fabric::Put::then_send) return true;
  FabricFrame done = frame_to(peer, FabricFrameKind::done);
  done.grant = grant;
  control(peer, done);
  return true;
}

void FabricTransport::put_ended(PutOperation& put) {
  Peer& peer = *put.peer;
  Outgoing* const message = put.message;
  const FabricGrant grant = put.grant;
  --peer.under_way;
  puts_.erase(put.self);
  if (message == nullptr) return;
  if (peer.put == fabric::Put::delivered) {
    FabricFrame done = frame_to(peer, FabricFrameKind::done);
    done.grant = grant;
    control(peer, done);
  }
  message->moved += grant.length;
  if (message->moved == message->bytes.size()) {
    peer.sending.take(message->tag);
    events_->sent(*message);
  }
  flush(peer);
}

// ---- long messages that this rank receives ----

void FabricTransport::receive(Incoming& message) {
  Peer* const from = peer_of(message.peer);
  if (is_stopped_ || from == nullptr) return;
  const std::size_t expected = length_of(message);
  if (from->arrivals.find(message.tag) != nullptr) {
    const std::vector<std::byte> bytes = from->arrivals.take(message.tag);
    unasked_.remove(cost_of(bytes.size()));
    from->arrived_bytes -= cost_of(bytes.size());
    try {
      if (bytes.size() != expected) refuse_length(bytes.size(), expected);
    } catch (const Error& e) {
      return lose(*from, e);
    }
    message.sink.take(0, bytes);
    message.moved = expected;
    events_->received(message);
    report_credit(*from);
    return flush(*from);
  }
  if (from->is_lost) return;
  if (expected <= kFabricInside) {
    from->wanted.add(message.tag, &message);
    report_credit(*from);
    return flush(*from);
  }
  Receiving& receiving = receivings_.emplace_front();
  receiving.message = &message;
  receiving.from = from;
  receiving.self = receivings_.begin();
  from->receiving.add(message.tag, &receiving);
  report_credit(*from);
  advance(receiving);
  flush(*from);
}

/// Grants as many pieces as may be on their way.
void FabricTransport::advance(Receiving& receiving) {
  const Incoming& message = *receiving.message;
  const std::size_t window = message.sink.reduction ? kStagedWindow : kDirectWindow;
  bool is_stalled = false;
  try {
    while (receiving.pieces < window && receiving.granted < length_of(message) && !is_stalled)
      is_stalled = !grant_piece(receiving);
  } catch (const Error& e) {
    return lose(*receiving.from, e);
  }
  if (is_stalled == receiving.is_stalled) return;
  receiving.is_stalled = is_stalled;
  stalled_ = is_stalled ? stalled_ + 1 : stalled_ - 1;
}

bool FabricTransport::advance_stalled() {
  if (stalled_ == 0) return false;
  const std::size_t before = stalled_;
  for (auto receiving = receivings_.begin(); receiving != receivings_.end();) {
    Receiving& next = *receiving++;  // A peer may be lost, and what it sends with it.
    if (!next.is_stalled) continue;
    Peer& from = *next.from;
    advance(next);
    flush(from);
    if (is_stopped_ || from.is_lost) break;
  }
  return stalled_ < before;
}

/// Returns false where the queue is full.
bool FabricTransport::grant_piece(Receiving& receiving) {
  const Incoming& message = *receiving.message;
  const std::size_t most = message.sink.reduction ? kStagedPiece : kFabricPiece;
  const std::size_t rest = length_of(message) - receiving.granted;
  const std::size_t bytes = std::min({most, rest, traits().most_bytes});
  Piece& piece = pieces_.emplace_front();
  piece.role = Role::piece;
  piece.self = pieces_.begin();
  piece.peer = receiving.from;
  piece.receiving = &receiving;
  piece.offset = receiving.granted;
  piece.is_tagged = receiving.from->put == fabric::Put::none;
  try {
    if (!prepare(piece, bytes)) {
      undo(piece);
      return false;
    }
  } catch (const Error&) {
    undo(piece);
    throw;
  }
  receiving.granted += bytes;
  ++receiving.pieces;
  numbered_.add({piece.number}, &piece);
  FabricFrame frame = frame_to(*receiving.from, FabricFrameKind::grant);
  frame.tag = message.tag;
  frame.grant = {.total = length_of(message),
                 .offset = piece.offset,
                 .length = static_cast<std::uint32_t>(bytes),
                 .number = piece.number,
                 .is_tagged = piece.is_tagged};
  if (!piece.is_tagged) frame.grant.place = place_in(*piece.part.registration, piece.part.bytes);
  control(*receiving.from, frame);
  return true;
}

/// Finds memory for a piece, and posts its receive if it comes as a message.
bool FabricTransport::prepare(Piece& piece, std::size_t bytes) {
  const MessageSink& sink = piece.receiving->message->sink;
  piece.is_staged = sink.reduction.has_value();
  if (piece.is_staged) {
    piece.part = staging_.take();
    piece.part.bytes = piece.part.bytes.first(bytes);
  } else {
    piece.part.bytes = sink.memory.subspan(piece.offset, bytes);
    piece.part.registration = memory_.find(piece.part.bytes);
    if (piece.part.registration == nullptr && (!piece.is_tagged || traits().needs_local)) {
      piece.own = endpoint_->register_memory(piece.part.bytes);
      piece.part.registration = piece.own.get();
    }
  }
  do
    piece.number = next_number_++;
  while (numbered_.find({piece.number}) != nullptr);
  return !piece.is_tagged ||
         endpoint_->receive_tagged(piece_tag(token_, piece.number), piece.part, piece);
}

/// Takes a piece out of the list, with its memory.
void FabricTransport::undo(Piece& piece) {
  if (piece.is_staged && !piece.part.bytes.empty())
    staging_.give({{piece.part.bytes.data(), kStagedPiece}, piece.part.registration});
  pieces_.erase(piece.self);
}

void FabricTransport::piece_arrived(Piece& piece) {
  Receiving* const receiving = piece.receiving;
  if (numbered_.find({piece.number}) != nullptr) numbered_.take({piece.number});
  if (receiving == nullptr) return undo(piece);
  Incoming& message = *receiving->message;
  if (piece.is_staged) message.sink.take(piece.offset, piece.part.bytes);
  message.moved += piece.part.bytes.size();
  --receiving->pieces;
  undo(piece);
  Peer& from = *receiving->from;
  if (message.moved < length_of(message)) {
    advance(*receiving);
    return flush(from);
  }
  from.receiving.take(message.tag);
  receivings_.erase(receiving->self);
  events_->received(message);
}

// ---- what comes ----

bool FabricTransport::progress() {
  if (is_stopped_ || events_ == nullptr) return false;
  bool has_moved = false;
  try {
    has_moved = poll_queue();
    if (!unposted_.empty()) post_receives();
  } catch (const Error& e) {
    // The endpoint itself is broken.
    for (const auto& peer : peers_)
      if (peer) lose(*peer, e);
    return true;
  }
  has_moved = flush_busy() || has_moved;
  return advance_stalled() || has_moved;
}

bool FabricTransport::poll_queue() {
  std::array<fabric::PortCompletion, 32> completions;
  const std::size_t count = endpoint_->poll(completions);
  for (std::size_t i = 0; i < count; ++i)
    complete(completions[i]);
  return count > 0;
}

void FabricTransport::complete(const fabric::PortCompletion& completion) {
  if (completion.kind == fabric::CompletionKind::data) {
    Piece** const piece = numbered_.find({completion.data});
    const bool is_awaited =
        piece != nullptr && !(*piece)->is_tagged && (*piece)->peer->put == fabric::Put::with_data;
    if (is_awaited) {
      ++(*piece)->peer->items_taken;
      return piece_arrived(**piece);
    }
    ++strangers_;
    return;
  }
  if (completion.operation == nullptr) return;
  auto& operation = static_cast<Operation&>(*completion.operation);
  if (completion.error != 0) return fail(operation, completion.error);
  switch (operation.role) {
    case Role::frame_in: {
      auto& frame = static_cast<FrameOperation&>(operation);
      const std::size_t bytes = std::min<std::size_t>(completion.bytes, kFabricFrameBytes);
      open_frame(frame.block.bytes.first(bytes));
      unposted_.push_back(&frame);
      return;
    }
    case Role::frame_out: {
      auto& frame = static_cast<FrameOperation&>(operation);
      frames_.give(frame.block);
      frames_out_.erase(frame.self);
      return;
    }
    case Role::put:
      return put_ended(static_cast<PutOperation&>(operation));
    case Role::piece: {
      auto& piece = static_cast<Piece&>(operation);
      Peer& from = *piece.peer;
      const std::size_t expected = piece.part.bytes.size();
      ++from.items_taken;
      if (completion.bytes == expected || piece.receiving == nullptr) return piece_arrived(piece);
      piece.receiving = nullptr;
      piece_arrived(piece);
      return lose(from, Error(ErrorKind::remote, "it sent a piece of another length"));
    }
  }
}

/// An operation has failed: its memory is free again.
void FabricTransport::fail(Operation& operation, int error) {
  Peer* const peer = operation.peer;
  switch (operation.role) {
    case Role::frame_in:  // Longer than any frame, from a stranger.
      unposted_.push_back(static_cast<FrameOperation*>(&operation));
      ++strangers_;
      return;
    case Role::frame_out: {
      auto& frame = static_cast<FrameOperation&>(operation);
      frames_.give(frame.block);
      frames_out_.erase(frame.self);
      break;
    }
    case Role::put: {
      auto& put = static_cast<PutOperation&>(operation);
      --peer->under_way;
      puts_.erase(put.self);
      break;
    }
    case Role::piece: {
      auto& piece = static_cast<Piece&>(operation);
      if (numbered_.find({piece.number}) != nullptr) numbered_.take({piece.number});
      if (piece.receiving != nullptr) --piece.receiving->pieces;
      undo(piece);
      break;
    }
  }
  lose(*peer, Error(ErrorKind::remote, "the fabric (" + traits().provider + " on " +
                                           traits().device + "): " + endpoint_->describe(error)));
}

/// A frame without the token of this endpoint, or of no rank, is a stranger's, and ignored.
void FabricTransport::open_frame(std::span<const std::byte> bytes) {
  FabricSender sender;
  if (!read_sender(bytes, sender) || sender.token != token_ || sender.rank >= peers_.size() ||
      peers_[sender.rank] == nullptr) {
    ++strangers_;
    return;
  }
  Peer& peer = *peers_[sender.rank];
  if (peer.is_lost) return;
  try {
    take(peer, decode_fabric_frame(bytes));
  } catch (const Error& e) {
    lose(peer, e);
  }
}

void FabricTransport::take(Peer& peer, const FabricFrame& frame) {
  if (is_counted(frame.kind)) ++peer.items_taken;
  switch (frame.kind) {
    case FabricFrameKind::message:
      return take_short(peer, frame);
    case FabricFrameKind::note:
      return events_->noted(peer.rank, frame.tag, *frame.note);
    case FabricFrameKind::grant:
      return grant_arrived(peer, frame.tag, frame.grant);
    case FabricFrameKind::done:
      return take_done(peer, frame.grant);
    case FabricFrameKind::credit:
      if (frame.credit < peer.credit || frame.credit > peer.sent ||
          frame.items < peer.items_known || frame.items > peer.items_sent)
        refuse("it has taken more than was sent");
      peer.credit = frame.credit;
      peer.items_known = frame.items;
      return flush(peer);
    case FabricFrameKind::question:
      send_credit(peer);
      return flush(peer);
    case FabricFrameKind::hello:
      if (peer.is_met) refuse("it introduced itself twice");
      peer.is_met = true;
      if (peer.rank < self_) greet(peer);
      return;
    case FabricFrameKind::farewell:
      return;
  }
}

void FabricTransport::take_short(Peer& peer, const FabricFrame& frame) {
  if (frame.note) events_->noted(peer.rank, frame.tag, *frame.note);
  peer.taken += cost_of(frame.bytes.size());
  if (Incoming** const wanted = peer.wanted.find(frame.tag)) {
    Incoming& message = **wanted;
    if (frame.bytes.size() != length_of(message))
      refuse_length(frame.bytes.size(), length_of(message));
    peer.wanted.take(frame.tag);
    message.sink.take(0, frame.bytes);
    message.moved = frame.bytes.size();
    events_->received(message);
  } else {
    if (Receiving** const receiving = peer.receiving.find(frame.tag))
      refuse_length(frame.bytes.size(), length_of(*(*receiving)->message));
    if (peer.arrivals.find(frame.tag) != nullptr) refuse("it sent two messages where there is one");
    unasked_.add(cost_of(frame.bytes.size()));
    peer.arrived_bytes += cost_of(frame.bytes.size());
    peer.arrivals.add(frame.tag, {frame.bytes.begin(), frame.bytes.end()});
  }
  report_credit(peer);
  flush(peer);
}

void FabricTransport::take_done(Peer& peer, const FabricGrant& done) {
  Piece** const found = numbered_.find({done.number});
  const bool is_awaited = found != nullptr && (*found)->peer == &peer && !(*found)->is_tagged &&
                          (*found)->part.bytes.size() == done.length;
  if (!is_awaited) refuse("it sent a piece that was not asked for");
  piece_arrived(**found);
}

/// Lets the peer send more, unless it is too far ahead of this rank.
void FabricTransport::report_credit(Peer& peer) {
  if (peer.taken - peer.reported < kAheadCost / 4) return;
  if (unasked_.is_full() && !is_awaited(peer)) return;
  peer.reported = peer.taken;
  send_credit(peer);
}

void FabricTransport::send_credit(Peer& peer) {
  FabricFrame frame = frame_to(peer, FabricFrameKind::credit);
  frame.credit = peer.reported;
  frame.items = peer.items_taken;
  control(peer, frame);
}

/// Asks the peers that have not reported all that was sent to them.
void FabricTransport::ask_for_credit() {
  for (const auto& peer : peers_) {
    if (is_closed(peer.get()) || peer->items_sent == peer->items_known ||
        peer->items_sent == peer->items_asked)
      continue;
    peer->items_asked = peer->items_sent;
    control(*peer, frame_to(*peer, FabricFrameKind::question));
    flush(*peer);
  }
}

bool FabricTransport::is_quiet() const noexcept {
  return !needs_progress() && std::ranges::all_of(peers_, [](const auto& peer) {
    return !peer || peer->is_lost || peer->items_sent == peer->items_known;
  });
}

/// Returns whether something must come from the peer before this rank can go on.
bool FabricTransport::is_awaited(const Peer& peer) const noexcept {
  return peer.wanted.size() > 0 || peer.receiving.size() > 0 || peer.sending.size() > 0 ||
         !peer.shorts.empty();
}

bool FabricTransport::needs_progress() const noexcept {
  return !is_stopped_ && (!busy_.empty() || !frames_out_.empty() || !puts_.empty() ||
                          !unposted_.empty() || stalled_ > 0);
}

bool FabricTransport::may_sleep() {
  if (is_stopped_ || events_ == nullptr) return true;
  ask_for_credit();
  if (endpoint_->descriptor() < 0) return !needs_progress();
  return busy_.empty() && unposted_.empty() && stalled_ == 0 && endpoint_->may_sleep();
}

void FabricTransport::allocated(std::span<std::byte> memory) {
  const bool is_used = traits().needs_local || traits().put != fabric::Put::none;
  if (!is_stopped_ && is_used) memory_.add(endpoint_->register_memory(memory));
}

void FabricTransport::freed(const std::byte* memory) noexcept {
  memory_.remove(memory);
}

// ---- the end ----

void FabricTransport::lose(Peer& peer, const Error& error) noexcept {
  if (std::exchange(peer.is_lost, true)) return;
  events_->lost(peer.rank, error);
}

void FabricTransport::forget(Rank lost) {
  Peer* const peer = peer_of(lost);
  if (is_stopped_ || peer == nullptr) return;
  peer->is_lost = true;
  peer->controls.clear();
  peer->shorts.clear();
  peer->sending.clear();
  peer->early_grants.clear();
  peer->early = 0;
  peer->puts.clear();
  peer->wanted.clear();
  peer->receiving.clear();
  std::erase(busy_, peer);
  peer->is_busy = false;
  std::erase_if(receivings_, [&](const Receiving& each) {
    if (each.from == peer && each.is_stalled) --stalled_;
    return each.from == peer;
  });
  end_operations(*peer);
}

bool FabricTransport::has_operations(const Peer& peer) const noexcept {
  const auto is_its = [&](const Operation& each) { return each.peer == &peer; };
  return std::ranges::any_of(puts_, is_its) || std::ranges::any_of(pieces_, is_its);
}

/// Ends what uses the memory of messages to and from a peer that is lost. If the fabric does not
/// give it back, all of the fabric is given up.
void FabricTransport::end_operations(const Peer& peer) {
  for (PutOperation& put : puts_) {
    if (put.peer != &peer) continue;
    put.message = nullptr;
    endpoint_->cancel(put);
  }
  for (auto next = pieces_.begin(); next != pieces_.end();) {
    Piece& piece = *next++;
    if (piece.peer != &peer) continue;
    piece.receiving = nullptr;
    if (piece.is_tagged)
      endpoint_->cancel(piece);
    else
      piece_arrived(piece);
  }
  const Deadline deadline(kCancelTimeout);
  while (has_operations(peer) && !deadline.passed() && !is_stopped_)
    if (!progress()) ::sched_yield();
  // A device only reads pages that are still registered.
  if (!has_operations(peer) || is_stopped_ || traits().is_hardware) return;
  stop();
  for (const auto& other : peers_)
    if (other)
      lose(*other, Error(ErrorKind::remote, "the fabric was given up after the loss of rank " +
                                                std::to_string(peer.rank.value)));
}

/// Waits until what was sent has left, for closing the endpoint would take it back. Whoever
/// listened may be gone, and so may the messages that have not ended.
void FabricTransport::say_farewell() {
  Deaf deaf;
  events_ = &deaf;
  receivings_.clear();
  stalled_ = 0;
  for (PutOperation& put : puts_)
    put.message = nullptr;
  for (Piece& piece : pieces_)
    piece.receiving = nullptr;
  for (const auto& peer : peers_) {
    if (!peer) continue;
    peer->puts.clear();
    peer->shorts.clear();
    peer->sending.clear();
    peer->wanted.clear();
    peer->receiving.clear();
    if (peer->is_lost || !peer->has_injected) continue;
    control(*peer, frame_to(*peer, FabricFrameKind::farewell));
    flush(*peer);
  }
  const Deadline deadline(kFarewellTimeout);
  while (needs_progress() && !deadline.passed())
    if (!progress()) ::sched_yield();
}

void FabricTransport::stop() noexcept {
  if (std::exchange(is_stopped_, true)) return;
  endpoint_->stop();
  for (const auto& peer : peers_) {
    if (!peer) continue;
    peer->puts.clear();
    peer->under_way = 0;
  }
  puts_.clear();
  pieces_.clear();
  receivings_.clear();
  frames_out_.clear();
  frames_in_.clear();
  unposted_.clear();
  busy_.clear();
  stalled_ = 0;
  frames_.clear();
  staging_.clear();
  memory_.clear();
}

/// Nothing is sent any more, so that the endpoint can go: then no memory is touched.
void FabricTransport::abandon() noexcept {
  stop();
  for (const auto& peer : peers_) {
    if (!peer) continue;
    peer->arrivals.clear();
    unasked_.remove(std::exchange(peer->arrived_bytes, 0));
  }
}

}  // namespace fastgpu::comm
