#include "comm/transports/fabric_transport.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "comm/common/deadline.hpp"
#include "comm/common/nonce.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// The time in which what was sent last must arrive.
constexpr auto kFarewellTimeout = 2s;
/// The time in which a peer that leaves at the same time has sent its last frame.
constexpr auto kPeerFarewellTimeout = 100ms;
/// The time in which operations with a peer that is lost end.
constexpr auto kCancelTimeout = 200ms;

bool may_register(const fabric::Traits& traits) {
  return traits.needs_local || traits.put != fabric::Put::none;
}

std::size_t usual_copy_limit(fabric::FabricEndpoint& endpoint) {
  return may_register(endpoint.traits()) ? measured_copy_limit(endpoint) : 0;
}

std::uint64_t random_token() {
  const Nonce nonce = random_nonce();
  std::uint64_t token = 0;
  std::memcpy(&token, nonce.data(), sizeof(token));
  return token;
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
                                 std::unique_ptr<fabric::FabricEndpoint> endpoint,
                                 std::optional<std::size_t> copy_limit)
    : self_(self),
      endpoint_(std::move(endpoint)),
      token_(random_token()),
      peers_(static_cast<std::size_t>(size)),
      program_memory_(*endpoint_, copy_limit ? *copy_limit : usual_copy_limit(*endpoint_)),
      frames_(self, *endpoint_),
      shorts_(frames_, *this),
      puts_(*endpoint_, memory_, program_memory_, frames_, *this),
      pieces_(*endpoint_, token_, memory_, program_memory_, frames_, *this),
      link_{.name = "fabric " + traits().provider + " " + traits().device} {}

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
          .scope = traits().scope,
          .address = endpoint_->address()};
}

// ---- meeting ----

bool FabricTransport::connect(Rank rank, const fabric::Card& card) {
  if (card.provider != traits().provider || card.protocol != traits().protocol) return false;
  if (card.scope != traits().scope) return false;
  const auto number = endpoint_->add_peer(card.address);
  if (!number) return false;
  auto peer = std::make_unique<FabricPeer>();
  peer->rank = rank;
  peer->number = *number;
  peer->token = card.token;
  peer->put = card.put == traits().put ? card.put : fabric::Put::none;
  peers_.at(static_cast<std::size_t>(rank.value)) = std::move(peer);
  return true;
}

/// Keeps the peer: operations with it that have begun may still end.
void FabricTransport::disconnect(Rank rank) noexcept {
  FabricPeer* const peer = peer_of(rank);
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

void FabricTransport::greet(FabricPeer& peer) {
  frames_.queue(peer, frames_.frame_to(peer, FabricFrameKind::hello));
  flush(peer);
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

bool FabricTransport::begin_to_meet(Rank rank, std::span<const std::byte> card) {
  if (is_stopped_ || card.empty() || !connect(rank, fabric::decode_card(card))) return false;
  if (rank > self_) greet(*peer_of(rank));
  return true;
}

PeerMeeting FabricTransport::meeting_with(Rank rank) const noexcept {
  const FabricPeer* const peer = peer_of(rank);
  if (is_closed(peer)) return PeerMeeting::failed;
  return peer->is_met ? PeerMeeting::done : PeerMeeting::begun;
}

void FabricTransport::open(TransportEvents& events) {
  events_ = &events;
  frames_.post_receives();
}

bool FabricTransport::reaches(Rank peer) const noexcept {
  const auto& known = peers_[static_cast<std::size_t>(peer.value)];
  return known != nullptr && known->is_reached;
}

// ---- sending and receiving ----

void FabricTransport::send(Outgoing& message) {
  FabricPeer* const to = peer_of(message.peer);
  if (is_closed(to)) return;
  link_.count_sent(message.bytes.size());
  if (message.bytes.size() > kFabricInside) return puts_.send(*to, message);
  shorts_.queue(*to, message);
  flush(*to);
}

void FabricTransport::receive(Incoming& message) {
  FabricPeer* const from = peer_of(message.peer);
  if (is_stopped_ || from == nullptr) return;
  link_.count_received(message.sink.memory.size());
  if (shorts_.deliver(*from, message) || from->is_lost) return;
  if (message.sink.memory.size() <= kFabricInside) {
    shorts_.await(*from, message);
    shorts_.report_credit(*from);
  } else {
    FabricReceiving& receiving = pieces_.add(*from, message);
    shorts_.report_credit(*from);
    pieces_.advance(receiving);
  }
  flush(*from);
}

void FabricTransport::flush(FabricPeer& peer) noexcept {
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
bool FabricTransport::flush_all(FabricPeer& peer) {
  for (;;) {
    if (!frames_.post_queued(peer)) return false;
    while (!peer.shorts.empty() && shorts_.post(peer)) {
    }
    bool has_put = false;
    while (puts_.may_begin(peer)) {
      if (!puts_.begin(peer)) return false;
      has_put = true;
    }
    if (!has_put) break;
  }
  return shorts_.is_flushed(peer);
}

bool FabricTransport::flush_busy() {
  if (busy_.empty()) return false;
  const std::size_t before = busy_.size();
  for (FabricPeer* const peer : std::exchange(busy_, {})) {
    peer->is_busy = false;
    flush(*peer);
  }
  return busy_.size() < before;
}

// ---- what comes ----

bool FabricTransport::progress() {
  if (is_stopped_ || events_ == nullptr) return false;
  bool has_moved = false;
  try {
    has_moved = poll_queue();
    frames_.post_receives();
  } catch (const Error& e) {
    return lose_all(e);  // The endpoint itself is broken.
  }
  has_moved = flush_busy() || has_moved;
  has_moved = pieces_.advance_stalled() || has_moved;
  warn_of_refusal();
  return has_moved;
}

void FabricTransport::warn_of_refusal() {
  if (const auto refusal = program_memory_.take_refusal())
    events_->warned(
        "the program's memory is copied for the fabric, because too little may be "
        "locked: " +
        std::string(refusal->what()));
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
    if (!pieces_.take_written(completion.data)) ++strangers_;
    return;
  }
  if (completion.operation == nullptr) return;
  auto& operation = static_cast<FabricOperation&>(*completion.operation);
  if (completion.error != 0) return fail(operation, completion.error);
  switch (operation.role) {
    case FabricRole::frame_in:
      open_frame(frames_.content_of(operation, completion.bytes));
      return frames_.taken(operation);
    case FabricRole::frame_out:
      return frames_.left(operation);
    case FabricRole::put:
      return puts_.ended(operation);
    case FabricRole::piece:
      return pieces_.take_tagged(operation, completion.bytes);
  }
}

/// Frees the memory of an operation that has failed. Its peer is lost.
void FabricTransport::fail(FabricOperation& operation, int error) {
  FabricPeer* const peer = operation.peer;
  switch (operation.role) {
    case FabricRole::frame_in:  // Longer than any frame, from a stranger.
      frames_.taken(operation);
      ++strangers_;
      return;
    case FabricRole::frame_out:
      frames_.left(operation);
      break;
    case FabricRole::put:
      puts_.failed(operation);
      break;
    case FabricRole::piece:
      pieces_.failed(operation);
      break;
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
  FabricPeer& peer = *peers_[sender.rank];
  if (peer.is_lost) return;
  try {
    take(peer, decode_fabric_frame(bytes));
  } catch (const Error& e) {
    lose(peer, e);
  }
}

void FabricTransport::take(FabricPeer& peer, const FabricFrame& frame) {
  peer.silent_since.reset();
  peer.answered_elsewhere.reset();
  if (is_leaving_ && frame.kind != FabricFrameKind::farewell) return;
  if (is_counted(frame.kind)) ++peer.items_taken;
  switch (frame.kind) {
    case FabricFrameKind::message:
      return shorts_.take(peer, frame);
    case FabricFrameKind::note:
      return events_->noted(peer.rank, frame.tag, *frame.note);
    case FabricFrameKind::offer:
      return shorts_.take_offer(peer, frame);
    case FabricFrameKind::grant:
      return puts_.take_grant(peer, frame.tag, frame.grant);
    case FabricFrameKind::done:
      return pieces_.take_done(peer, frame.grant);
    case FabricFrameKind::credit:
      return shorts_.take_credit(peer, frame);
    case FabricFrameKind::question:
      shorts_.send_credit(peer);
      return flush(peer);
    case FabricFrameKind::hello:
      if (peer.is_met) refuse_fabric("it introduced itself twice");
      peer.is_met = true;
      if (peer.rank < self_) greet(peer);
      return;
    case FabricFrameKind::farewell:
      peer.has_left = true;
      return;
  }
}

bool FabricTransport::is_quiet() const noexcept {
  return !needs_progress() && std::ranges::all_of(peers_, [](const auto& peer) {
    return !peer || peer->is_lost || peer->items_sent == peer->items_known;
  });
}

bool FabricTransport::needs_progress() const noexcept {
  return !is_stopped_ && (!busy_.empty() || frames_.are_leaving() || puts_.are_under_way() ||
                          frames_.has_unposted() || pieces_.are_stalled());
}

void FabricTransport::answers_elsewhere(Rank rank) {
  FabricPeer* const peer = peers_[static_cast<std::size_t>(rank.value)].get();
  if (is_stopped_ || is_closed(peer)) return;
  try {
    shorts_.check_silence(*peer, self_);
  } catch (const Error& e) {
    const std::string network = " (" + traits().provider + " on " + traits().device + ")";
    lose(*peer, CausedError(Error(e.kind(), e.what() + network), kPair));
  }
}

bool FabricTransport::may_sleep() {
  if (is_stopped_ || events_ == nullptr) return true;
  for (const auto& peer : peers_)
    if (!is_closed(peer.get())) shorts_.ask_for_credit(*peer);
  if (endpoint_->descriptor() < 0) return !needs_progress();
  return busy_.empty() && !frames_.has_unposted() && !pieces_.are_stalled() &&
         endpoint_->may_sleep();
}

void FabricTransport::allocated(std::span<std::byte> memory) {
  if (!is_stopped_ && may_register(traits())) memory_.add(endpoint_->register_memory(memory));
}

void FabricTransport::freed(const std::byte* memory) noexcept {
  memory_.remove(memory);
}

// ---- memory of GPUs ----

/// A short message is copied to a frame, for which it must be the host's.
bool FabricTransport::take_device_memory(std::span<std::byte> memory) {
  if (is_stopped_ || memory.size() <= kFabricInside) return false;
  try {
    if (!device_memory_.take(memory)) return false;
  } catch (const Error&) {
    if (events_ != nullptr) events_->warned(device_memory_.report());
    return false;
  }
  link_.direct_bytes += memory.size();
  return true;
}

// ---- the end ----

void FabricTransport::lose(FabricPeer& peer, const Error& error) noexcept {
  if (std::exchange(peer.is_lost, true)) return;
  events_->lost(peer.rank, error);
}

/// Returns whether a peer was not lost before.
bool FabricTransport::lose_all(const Error& error) noexcept {
  bool is_news = false;
  for (const auto& peer : peers_) {
    if (!peer || peer->is_lost) continue;
    lose(*peer, error);
    is_news = true;
  }
  return is_news;
}

void FabricTransport::forget(Rank lost) {
  FabricPeer* const peer = peer_of(lost);
  if (is_stopped_ || peer == nullptr) return;
  peer->is_lost = true;
  peer->controls.clear();
  shorts_.forget(*peer);
  puts_.forget(*peer);
  pieces_.forget(*peer);
  std::erase(busy_, peer);
  peer->is_busy = false;
  end_operations(*peer);
}

bool FabricTransport::has_operations(const FabricPeer& peer) const noexcept {
  return puts_.has_any_to(peer) || pieces_.has_any_from(peer);
}

/// Ends what uses the memory of messages to and from a peer that is lost. If the fabric does not
/// give it back, all of the fabric is given up.
void FabricTransport::end_operations(const FabricPeer& peer) {
  puts_.cancel(peer);
  pieces_.cancel(peer);
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

bool FabricTransport::is_awaited_to_leave(const FabricPeer& peer) const noexcept {
  return !is_stopped_ && !peer.is_lost && !peer.has_left && (peer.is_met || peer.items_taken > 0);
}

/// Waits until what was sent has left, for closing the endpoint would take it back, and for the
/// last frames of peers that leave too: ofi_rxm of libfabric 1.17 may crash if a message comes
/// while it closes a connection, and TCP drops what is unread together with what is on its way. The
/// listener may be gone, and so may the messages that have not ended.
void FabricTransport::say_farewell() {
  Deaf deaf;
  events_ = &deaf;
  pieces_.release_messages();
  puts_.release_messages();
  for (const auto& peer : peers_) {
    if (!peer) continue;
    peer->puts.clear();
    peer->sending.clear();
    peer->receiving.clear();
    shorts_.forget(*peer);
    const bool is_known = peer->is_met || peer->has_injected || peer->items_sent > 0;
    if (peer->is_lost || !is_known) continue;
    frames_.queue(*peer, frames_.frame_to(*peer, FabricFrameKind::farewell));
    flush(*peer);
  }
  is_leaving_ = true;
  const Deadline deadline(kFarewellTimeout);
  const Deadline for_peers(kPeerFarewellTimeout);
  const auto is_awaited = [this](const auto& peer) { return peer && is_awaited_to_leave(*peer); };
  while ((needs_progress() && !deadline.passed()) ||
         (!for_peers.passed() && std::ranges::any_of(peers_, is_awaited)))
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
  frames_.clear();
  busy_.clear();
  memory_.clear();
}

/// Nothing is sent any more, so that the endpoint can go: then no memory is touched.
void FabricTransport::abandon() noexcept {
  stop();
  for (const auto& peer : peers_)
    if (peer) shorts_.drop_arrivals(*peer);
}

}  // namespace fastgpu::comm
