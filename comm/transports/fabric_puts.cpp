#include "comm/transports/fabric_puts.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "comm/transports/message_type.hpp"

namespace fastgpu::comm {
namespace {

/// Puts to one peer that are under way: a more urgent one waits for no more.
constexpr std::size_t kMaxPuts = 8;

/// Pieces that are copied at a time because the system refuses to lock more memory.
constexpr std::size_t kMaxLongCopies = 2;

/// Grants that a peer may give for messages that this rank has not begun to send.
constexpr std::size_t kMaxEarlyGrants = kMostUnasked / kArrivalCost;

}  // namespace

FabricPuts::FabricPuts(fabric::FabricEndpoint& endpoint, const RegisteredMemory& memory,
                       ProgramMemory& program_memory, FabricFrames& frames, FabricHub& hub)
    : endpoint_(endpoint),
      memory_(memory),
      program_memory_(program_memory),
      frames_(frames),
      hub_(hub),
      short_blocks_(endpoint, kMaxCopied, 1, true),
      long_blocks_(endpoint, kFabricPiece, 1, true) {
  if (endpoint.traits().needs_local) long_blocks_.reserve();
}

void FabricPuts::send(FabricPeer& peer, Outgoing& message) {
  if (message.note != nullptr) {
    FabricFrame frame = frames_.frame_to(peer, FabricFrameKind::note);
    frame.tag = message.tag;
    frame.note = *message.note;
    frames_.queue(peer, frame);
  }
  peer.sending.add(message.tag, {&message, 0});
  if (peer.early_grants.find(message.tag) != nullptr) {
    const MessageTag asked = peer.early_grants.key_of(message.tag);
    const std::vector<FabricGrant> grants = peer.early_grants.take(message.tag);
    peer.early -= grants.size();
    try {
      for (const FabricGrant& grant : grants)
        accept(peer, *peer.sending.find(message.tag), asked, grant);
    } catch (const Error& e) {
      return hub_.lose(peer, e);
    }
  }
  hub_.flush(peer);
}

void FabricPuts::take_grant(FabricPeer& peer, MessageTag tag, const FabricGrant& grant) {
  if (FabricSending* const sending = peer.sending.find(tag)) {
    accept(peer, *sending, tag, grant);
    return hub_.flush(peer);
  }
  if (peer.early >= kMaxEarlyGrants) refuse_fabric("it awaits far more messages than there are");
  ++peer.early;
  if (auto* const grants = peer.early_grants.find(tag))
    grants->push_back(grant);
  else
    peer.early_grants.add(tag, {grant});
}

void FabricPuts::accept(FabricPeer& peer, FabricSending& sending, MessageTag asked,
                        const FabricGrant& grant) {
  Outgoing& message = *sending.message;
  const MessageShape wanted{asked, grant.total};
  const MessageShape sent{message.tag, message.bytes.size()};
  if (wanted != sent)
    throw Error(has_type(asked) && has_type(message.tag) ? ErrorKind::usage : ErrorKind::remote,
                "it expects " + text_of(wanted) + " where " + text_of(sent) + " are sent");
  sending.granted += grant.length;
  if (sending.granted > grant.total) refuse_fabric("it asked for bytes twice");
  if (grant.is_tagged != (peer.put == fabric::Put::none))
    refuse_fabric("it asked for bytes in a way that was not agreed");
  const auto urgent = [&](const FabricPut& each) {
    return each.message->priority >= message.priority;
  };
  const auto made = peer.puts.emplace(std::ranges::find_if_not(peer.puts, urgent));
  made->role = FabricRole::put;
  made->peer = &peer;
  made->message = &message;
  made->grant = grant;
  made->self = made;
}

bool FabricPuts::may_begin(const FabricPeer& peer) const noexcept {
  return !peer.puts.empty() && peer.under_way < kMaxPuts;
}

/// Finds registered memory with the bytes of a put, if it needs that; returns false where it must
/// wait for a block.
bool FabricPuts::find_memory(FabricPut& put, fabric::FabricPart& part) {
  const auto source = put.message->bytes.subspan(put.grant.offset, put.grant.length);
  // The fabric only reads there.
  part = {{const_cast<std::byte*>(source.data()), source.size()}, memory_.find(source)};
  if (part.registration != nullptr || !endpoint_.traits().needs_local) return true;
  const bool is_ready = put.own || !put.copy.bytes.empty();
  if (!is_ready) put.own = program_memory_.lend(part.bytes);
  part.registration = put.own.get();
  if (put.own) return true;
  if (!is_ready && !copy(put, source)) return false;
  part = {put.copy.bytes.first(source.size()), put.copy.registration};
  return true;
}

/// Copies the bytes to a block; returns false where none is free.
bool FabricPuts::copy(FabricPut& put, std::span<const std::byte> source) {
  const bool is_in_short = source.size() <= kMaxCopied && take(put, short_blocks_);
  if (!is_in_short) {
    if (long_copies_ >= kMaxLongCopies || !take(put, long_blocks_)) return false;
    ++long_copies_;
  }
  std::ranges::copy(source, put.copy.bytes.begin());
  return true;
}

/// Takes a block; returns false where the system refuses to lock another.
bool FabricPuts::take(FabricPut& put, FabricBlocks& blocks) {
  try {
    put.copy = blocks.take();
    return true;
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::capacity) throw;
    return false;
  }
}

/// Frees the block of a put that has ended, or does not begin.
void FabricPuts::give_back(FabricPut& put) {
  if (put.copy.bytes.empty()) return;
  const bool is_long = put.copy.bytes.size() > kMaxCopied;
  if (is_long) --long_copies_;
  (is_long ? long_blocks_ : short_blocks_).give(put.copy);
  put.copy = {};
}

bool FabricPuts::begin(FabricPeer& peer) {
  FabricPut& put = peer.puts.front();
  const FabricGrant& grant = put.grant;
  fabric::FabricPart part;
  if (!find_memory(put, part)) return false;
  const auto write = [&](fabric::WriteKind kind) {
    return endpoint_.write(peer.number, part, grant.place, kind, grant.number, put);
  };
  bool has_begun = false;
  switch (peer.put) {
    case fabric::Put::none:
      has_begun =
          endpoint_.send_tagged(peer.number, fabric_piece_tag(peer.token, grant.number), part, put);
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
  under_way_.splice(under_way_.begin(), peer.puts, put.self);
  // Puts of the other two ways are counted by the frame that follows them.
  if (peer.put == fabric::Put::none || peer.put == fabric::Put::with_data) ++peer.items_sent;
  if (peer.put == fabric::Put::then_send) report_done(peer, grant);
  return true;
}

void FabricPuts::report_done(FabricPeer& peer, const FabricGrant& grant) {
  FabricFrame done = frames_.frame_to(peer, FabricFrameKind::done);
  done.grant = grant;
  frames_.queue(peer, done);
}

void FabricPuts::ended(FabricOperation& operation) {
  auto& put = static_cast<FabricPut&>(operation);
  FabricPeer& peer = *put.peer;
  Outgoing* const message = put.message;
  const FabricGrant grant = put.grant;
  give_back(put);
  --peer.under_way;
  under_way_.erase(put.self);
  if (message == nullptr) return;
  if (peer.put == fabric::Put::delivered) report_done(peer, grant);
  message->moved += grant.length;
  if (message->moved == message->bytes.size()) {
    peer.sending.take(message->tag);
    hub_.events().sent(*message);
  }
  hub_.flush(peer);
}

void FabricPuts::failed(FabricOperation& operation) {
  auto& put = static_cast<FabricPut&>(operation);
  give_back(put);
  --put.peer->under_way;
  under_way_.erase(put.self);
}

bool FabricPuts::has_any_to(const FabricPeer& peer) const noexcept {
  return std::ranges::any_of(under_way_, [&](const FabricPut& each) { return each.peer == &peer; });
}

void FabricPuts::forget(FabricPeer& peer) {
  peer.sending.clear();
  peer.early_grants.clear();
  peer.early = 0;
  for (FabricPut& put : peer.puts)
    give_back(put);
  peer.puts.clear();
}

void FabricPuts::cancel(const FabricPeer& peer) {
  for (FabricPut& put : under_way_) {
    if (put.peer != &peer) continue;
    put.message = nullptr;
    endpoint_.cancel(put);
  }
}

void FabricPuts::clear() noexcept {
  under_way_.clear();
  short_blocks_.clear();
  long_blocks_.clear();
  long_copies_ = 0;
}

void FabricPuts::release_messages() noexcept {
  for (FabricPut& put : under_way_)
    put.message = nullptr;
}

}  // namespace fastgpu::comm
